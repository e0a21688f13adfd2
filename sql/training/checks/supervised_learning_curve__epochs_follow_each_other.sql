-- from 0 on, for all three networks
select variant, epoch, network
from supervised_learning_curve
window run as (partition by variant, network order by epoch)
qualify not coalesce(epoch = row_number() over run - 1
                     and network in ('race', 'crashed', 'contact')
                     and count(*) over (partition by variant, epoch) = 3, false);
