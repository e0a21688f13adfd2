"""The Prefect flow builds what the library builds. (being written)"""
