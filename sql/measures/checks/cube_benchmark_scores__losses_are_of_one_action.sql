select variant, decision, double_loss, answer_loss
from cube_benchmark_scores
where not coalesce(double_loss >= 0 and answer_loss >= 0, false)
    or is_doubled is distinct from (least(double_take, 1) >= no_double)
    or is_taken is distinct from (double_take < 1);
