select variant, decision, board from benchmark_decisions where coalesce(len(board), 0) <> 26;
