select variant, source, line, board from positions where coalesce(len(board), 0) <> 26;
