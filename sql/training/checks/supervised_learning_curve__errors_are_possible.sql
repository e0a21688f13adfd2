-- an equity is worth three points at most, and a cross-entropy of five chances cannot be negative; null without positions
select variant, epoch, network
from supervised_learning_curve
where not (coalesce(learning_rate between 0 and 10 and positions >= 0, false)
           and coalesce(train_cross_entropy >= 0 and train_cross_entropy < 60, true)
           and coalesce(validation_cross_entropy >= 0 and validation_cross_entropy < 60, true)
           and coalesce(train_squared_error between 0 and 36, true)
           and coalesce(validation_squared_error between 0 and 36, true)
           and (train_cross_entropy is null) = (train_squared_error is null)
           and (validation_cross_entropy is null) = (validation_squared_error is null));
