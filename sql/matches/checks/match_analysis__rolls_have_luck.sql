select variant, game, turn, subject, luck, die1
from match_analysis
where (luck is null) <> (subject <> 'play') or (die1 is null) <> (subject <> 'play');
