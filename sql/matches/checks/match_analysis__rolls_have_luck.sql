select variant, game, turn, decision, luck, die1
from match_analysis
where (luck is null) <> (decision <> 'play') or (die1 is null) <> (decision <> 'play');
