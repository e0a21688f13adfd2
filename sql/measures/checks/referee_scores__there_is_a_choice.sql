select variant, decision, n_plays, die1, die2 from referee_scores
where not coalesce(n_plays > 1 and die1 between 1 and 6 and die2 between 1 and 6, false);
