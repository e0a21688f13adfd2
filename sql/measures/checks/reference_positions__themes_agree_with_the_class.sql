-- a theme is known, and a race or a bearoff if, and only if, the class is a race
select variant, row, theme, class
from reference_positions
where not coalesce(theme in ('opening', 'middle-game', 'blitz', 'priming-battle', 'mutual-holding', 'ace-point-game',
                             'back-game-on-roll', 'back-game-against', 'containment', 'bear-in-against-contact',
                             'bear-off-against-contact', 'crashed', 'race', 'bear-off')
                   and (theme in ('race', 'bear-off')) = (class = 'race')
                   and (theme <> 'crashed' or class = 'crashed'), false);
