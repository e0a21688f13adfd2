select variant, decision, rank, loss from referee_scores
where not coalesce(loss between 0 and 2, false) or not coalesce(rank between 0 and n_plays - 1, false) or (rank > 0 and loss = 0);
