select variant, decision, choice, loss
from match_rollouts
where loss is null or loss < 0 or (choice = 0 and loss <> 0) or (loss_mwc is null) <> (unit = 'points');
