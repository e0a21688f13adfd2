-- of a network that learns: whenever the error falls below all before
with run as (
    select variant, epoch, network, is_best,
           coalesce(validation_cross_entropy
                    < coalesce(min(validation_cross_entropy) over before, 'infinity'), false) as is_lowest,
           bool_or(is_best) over (partition by variant, network) as learns
    from supervised_learning_curve
    window before as (partition by variant, network order by epoch rows between unbounded preceding and 1 preceding)
)
select variant, epoch, network from run where is_best is distinct from (is_lowest and learns);
