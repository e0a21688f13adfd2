select variant, row, theme, split, game
from reference_scores
where not coalesce(split in ('validation', 'test') and game >= 0
                   and theme in ('opening', 'middle-game', 'blitz', 'priming-battle', 'mutual-holding', 'ace-point-game',
                                 'back-game-on-roll', 'back-game-against', 'containment', 'bear-in-against-contact',
                                 'bear-off-against-contact', 'crashed', 'race', 'bear-off'), false);
