-- float32 rounding allowed for
select * from bearoff_error where abs(one_sided_equity) > 1.000001 or abs(exact_equity) > 1.000001;
