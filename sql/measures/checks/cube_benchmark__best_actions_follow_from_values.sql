select variant, decision, no_double, double_take, double_pass, best_action
from cube_benchmark
where no_double + double_take is null or best_action is distinct from case
    when least(double_take, double_pass) >= no_double then if(double_take < double_pass, 'double, take', 'double, pass')
    when double_take < double_pass then 'no double'
    else 'too good to double'
end;
