-- the largest error known is 0.028; a tenth of a point would mean a wrong table
select * from bearoff_error where abs(difference) > 0.1;
