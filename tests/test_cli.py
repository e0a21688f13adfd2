"""The command line: what every command says and how it exits. (being written)"""
