-- a player without checkers has won, also when neither side has any; 4x15 alone has 16-bit codes of gammons, of which the
-- nearest to one point is up to half a step of 4/65535 from it
select * exclude tolerance
from (select *, if(variant = '4x15', 2 / 65535, 0) as tolerance from bearoff_two_sided)
where (on_roll_index = 0 and cubeless < 1 - tolerance)
    or (on_roll_index <> 0 and opponent_index = 0 and cubeless > -1 + tolerance);
