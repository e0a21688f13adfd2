select variant, game, turn, subject, loss, loss_mwc, is_forced, error
from match_analysis
where loss is null or not (loss >= 0 and loss < 100)
   or not coalesce(loss_mwc between 0 and 1, true)
   or (is_forced and loss > 0)
   or (error is null) <> (loss = 0)
   or (made = best and loss > 1e-9 and subject = 'play');
