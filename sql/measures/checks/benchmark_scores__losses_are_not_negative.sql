select variant, decision, rank, loss from benchmark_scores where not coalesce(loss >= 0, false) or (rank = 0 and loss <> 0);
