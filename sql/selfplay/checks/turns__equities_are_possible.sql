-- a game is worth three points at most; a roll can change six, and rounding a little
select variant, dataset, game, turn, cubeless_equity, luck
from turns
where abs(cubeless_equity) > 3.000001 or abs(luck) > 6.000001;
