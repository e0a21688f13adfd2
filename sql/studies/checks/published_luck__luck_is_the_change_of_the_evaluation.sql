-- as printed: the size is right in every row, the sign in all but two, which the register of claims corrects
select variant, round, program, average, evaluation, printed_luck
from published_luck
where not coalesce(abs(abs(printed_luck) - abs(evaluation - average)) < 1e-9, false)
   or not coalesce(least(average, evaluation) >= -1 and greatest(average, evaluation) <= 1, false);
