# The commands that made the networks of docs/research/generations.md, in order. They are a record, not a script: what a
# command printed stands as `...` (version=..., network_version=..., lookahead_labels/...), and NAME, NEXT and SEED are
# filled in as the comment says.
bgdata train td contact-160 --td-lambda 0 --games 3000000 --hidden 160 --crashed-hidden 120 --race-hidden 80 --final-learning-rate 0.01 --row-games 50000 --test-games 8000
bgdata train td contact-320 --start network/contact-160 --games 1200000 --hidden 320 --crashed-hidden 160 --learning-rate 0.03 --final-learning-rate 0.0005 --row-games 50000 --test-games 8000
# here and below, version=..., network_version=..., lookahead_labels/... and engine_labels/... are what the command before prints
# for NAME, NEXT, SEED in (contact-320, taught-320, 11), (taught-320, taught-400, 12)
bgdata selfplay --player network/NAME --games 12000 --seed SEED
bgdata build play_sample --set player=network/NAME --set version=... --set games=12000 --set seed=SEED --set "classes=contact crashed" --set most=1000000 --set within=6 --set network=NAME --set network_version=...
bgdata label play_sample/... --engine lookahead --network NAME
bgdata label bearoff_one_sided/10x15 --engine tables
bgdata train sl taught-320 --start network/contact-320 --labels lookahead_labels/...:3 --labels bearoff_labels/...:1 --epochs 12 --learning-rate 0.003 --batch-size 128 --test-games 8000
bgdata train sl taught-400 --start network/taught-320 --labels lookahead_labels/...:3 --labels bearoff_labels/...:1 --epochs 24 --learning-rate 0.003 --batch-size 128 --hidden 400 --crashed-hidden 200 --test-games 8000
# from taught-400 to what plays now
SETUPS="--begin back-game:0.7 --begin ace-point:0.6 --begin blitz:0.7 --begin primes:0.6 --begin holding:0.5 --begin bear-in:0.6 --begin crashed:0.6 --begin anywhere:0.6"
bgdata train games mixed --network taught-400 --games 100000 --td-lambda 0.9 --overlooked 0.05 --seed 31 --begin opening:3 --begin random-plays:2.5 --begin containment:0.9 $SETUPS
bgdata selfplay --player network/taught-400 --games 12000 --seed 11
bgdata build play_sample --set player=network/taught-400 --set version=... --set games=12000 --set seed=11 --set "classes=contact crashed" --set most=600000 --set within=6 --set network=taught-400
bgdata label play_sample/... --engine lookahead --network taught-400
bgdata train sl diverse-1 --start new --labels training_games/mixed-by-taught-400-100000-seed-31:2 --labels lookahead_labels/...:1 --hidden 1024-32-32 --crashed-hidden 512-32-32 --race-hidden 128-32 --inputs tesauro-196 --activation rectified --epochs 6 --learning-rate 0.001 --schedule one-cycle --batch-size 1024 --trainer torch --average-decay 0.999
bgdata train games mixed --network diverse-1 --games 40000 --td-lambda 0.5 --overlooked 0.05 --seed 41 --doubts training_games/mixed-by-taught-400-100000-seed-31 --begin opening:3 --begin random-plays:2 --begin doubtful:2 --begin containment:1.2 $SETUPS
bgdata selfplay --player network/diverse-1 --games 8000 --seed 41
bgdata build play_sample --set player=network/diverse-1 --set version=... --set games=8000 --set seed=41 --set "classes=contact crashed" --set most=300000 --set within=6 --set network=diverse-1 --set network_version=...
bgdata label play_sample/... --engine lookahead --network diverse-1
bgdata train sl diverse-2 --start network/diverse-1 --labels training_games/mixed-by-diverse-1-40000-seed-41:2 --labels lookahead_labels/...:2 --labels training_games/mixed-by-taught-400-100000-seed-31:1 --labels lookahead_labels/...:1 --epochs 8 --epoch-rows 4000000 --learning-rate 0.0006 --schedule one-cycle --batch-size 1024 --trainer torch --average-decay 0.999
bgdata train games mixed --network diverse-2 --games 80000 --td-lambda 0.5 --overlooked 0.05 --seed 51 --begin opening:3 --begin random-plays:2 --begin containment:1.2 $SETUPS
bgdata selfplay --player network/diverse-2 --games 16000 --seed 51
bgdata build play_sample --set player=network/diverse-2 --set version=... --set games=16000 --set seed=51 --set "classes=contact crashed" --set most=1500000 --set within=6 --set network=diverse-2 --set network_version=...
bgdata label play_sample/... --engine lookahead --network diverse-2
bgdata train sl diverse-3 --start network/diverse-2 --labels training_games/mixed-by-diverse-2-80000-seed-51:2 --labels lookahead_labels/...:2 --epochs 4 --epoch-rows 4000000 --learning-rate 0.0006 --schedule one-cycle --batch-size 1024 --trainer torch --average-decay 0.999
bgdata train games mixed --network diverse-3 --games 100000 --td-lambda 0.5 --overlooked 0.05 --seed 61 --begin opening:3 --begin random-plays:2.5 --begin containment:1.2 --begin back-game:0.9 --begin ace-point:0.7 --begin blitz:0.7 --begin primes:0.6 --begin holding:0.6 --begin bear-in:0.6 --begin crashed:0.6 --begin anywhere:0.6
bgdata selfplay --player network/diverse-3 --games 16000 --seed 61
bgdata build play_sample --set player=network/diverse-3 --set version=... --set games=16000 --set seed=61 --set "classes=contact crashed race" --set most=1500000 --set within=6 --set network=diverse-3 --set network_version=...
bgdata label play_sample/... --engine lookahead --network diverse-3
bgdata train sl diverse-5 --start network/diverse-3 --labels training_games/mixed-by-diverse-3-100000-seed-61:2 --labels lookahead_labels/...:2 --hidden 1024-64-32 --crashed-hidden 512-64-32 --epochs 10 --epoch-rows 4000000 --learning-rate 0.0008 --schedule one-cycle --batch-size 1024 --trainer torch --average-decay 0.999
bgdata train games mixed --network diverse-5 --games 150000 --td-lambda 0.5 --overlooked 0.05 --seed 71 --doubts training_games/mixed-by-diverse-3-100000-seed-61 --begin opening:3 --begin random-plays:2 --begin doubtful:2 --begin containment:1.2 --begin back-game:0.9 --begin ace-point:0.7 --begin blitz:0.7 --begin primes:0.6 --begin holding:0.6 --begin bear-in:0.6 --begin crashed:0.7 --begin anywhere:0.6
bgdata selfplay --player network/diverse-5 --games 20000 --seed 71
bgdata build play_sample --set player=network/diverse-5 --set version=... --set games=20000 --set seed=71 --set "classes=contact crashed race" --set most=1500000 --set within=6 --set network=diverse-5 --set network_version=...
bgdata label play_sample/... --engine lookahead --network diverse-5
bgdata train sl diverse-6 --start network/diverse-5 --labels training_games/mixed-by-diverse-3-100000-seed-61:1 --labels training_games/mixed-by-diverse-5-150000-seed-71:2 --labels lookahead_labels/...:2 --epochs 20 --epoch-rows 4000000 --learning-rate 0.0008 --schedule one-cycle --batch-size 1024 --trainer torch --average-decay 0.999
bgdata train games mixed --network diverse-6 --games 200000 --td-lambda 0.5 --overlooked 0.05 --seed 81 --doubts training_games/mixed-by-diverse-5-150000-seed-71 --begin opening:3 --begin random-plays:2 --begin doubtful:2 --begin containment:1.2 --begin back-game:1.1 --begin ace-point:0.7 --begin blitz:0.8 --begin primes:0.6 --begin holding:0.6 --begin bear-in:0.5 --begin crashed:0.9 --begin anywhere:0.6
bgdata selfplay --player network/diverse-6 --games 20000 --seed 81
bgdata build play_sample --set player=network/diverse-6 --set version=... --set games=20000 --set seed=81 --set "classes=contact crashed race" --set most=1500000 --set within=6 --set network=diverse-6 --set network_version=...
bgdata label play_sample/... --engine lookahead --network diverse-6
bgdata train sl diverse-7 --start network/diverse-6 --labels training_games/mixed-by-diverse-5-150000-seed-71:1 --labels training_games/mixed-by-diverse-6-200000-seed-81:2 --labels lookahead_labels/...:2 --labels lookahead_labels/...:1 --epochs 24 --epoch-rows 4000000 --learning-rate 0.0008 --schedule one-cycle --batch-size 1024 --trainer torch --average-decay 0.999
bgdata train games mixed --network diverse-7 --games 250000 --td-lambda 0.5 --overlooked 0.05 --seed 91 --doubts training_games/mixed-by-diverse-6-200000-seed-81 --begin opening:3 --begin random-plays:2 --begin doubtful:2 --begin containment:1 --begin back-game:1.4 --begin ace-point:0.8 --begin blitz:0.9 --begin primes:0.7 --begin holding:0.7 --begin bear-in:0.4 --begin crashed:1 --begin anywhere:0.6
bgdata selfplay --player network/diverse-7 --games 20000 --seed 91
bgdata build play_sample --set player=network/diverse-7 --set version=... --set games=20000 --set seed=91 --set "classes=contact crashed race" --set most=1500000 --set within=6 --set network=diverse-7 --set network_version=...
bgdata label play_sample/... --engine lookahead --network diverse-7
bgdata train sl diverse-8 --start network/diverse-7 --labels training_games/mixed-by-diverse-6-200000-seed-81:1 --labels training_games/mixed-by-diverse-7-250000-seed-91:2 --labels lookahead_labels/...:2 --labels lookahead_labels/...:1 --epochs 50 --epoch-rows 4000000 --learning-rate 0.001 --schedule one-cycle --batch-size 1024 --trainer torch --average-decay 0.999 --revive
bgdata train games mixed --network diverse-8 --games 250000 --td-lambda 0.5 --overlooked 0.05 --seed 101 --doubts training_games/mixed-by-diverse-7-250000-seed-91 --begin opening:3 --begin random-plays:2 --begin doubtful:2 --begin containment:1 --begin back-game:1.8 --begin ace-point:0.8 --begin blitz:0.8 --begin primes:0.7 --begin holding:0.7 --begin bear-in:0.4 --begin crashed:1.2 --begin anywhere:0.6
bgdata selfplay --player network/diverse-8 --games 20000 --seed 101
bgdata build play_sample --set player=network/diverse-8 --set version=... --set games=20000 --set seed=101 --set "classes=contact crashed race" --set most=1500000 --set within=6 --set network=diverse-8 --set network_version=...
bgdata label play_sample/... --engine lookahead --network diverse-8
bgdata train games wild --network diverse-8 --games 60000 --td-lambda 1 --overlooked 0.5 --seed 111 --begin anywhere:3 --begin random-plays:4 --begin back-game --begin containment --begin ace-point --begin blitz --begin primes --begin crashed --begin holding
bgdata train games unlikely --network diverse-8 --games 160000 --td-lambda 1 --likely 18 --overlooked 0.02 --seed 112 --doubts training_games/wild-by-diverse-8-60000-seed-111 --begin doubtful:6 --begin anywhere:3 --begin random-plays:3 --begin back-game:2 --begin containment:1.5 --begin ace-point --begin blitz --begin primes:1.5 --begin crashed:1.5 --begin holding:0.5
bgdata train sl diverse-11 --start network/diverse-8 --labels training_games/unlikely-by-diverse-8-160000-seed-112:3 --labels training_games/wild-by-diverse-8-60000-seed-111:1 --labels training_games/mixed-by-diverse-8-250000-seed-101:2 --labels training_games/mixed-by-diverse-7-250000-seed-91:0.5 --labels lookahead_labels/...:3 --labels lookahead_labels/...:1 --epochs 12 --epoch-rows 4000000 --learning-rate 0.0005 --schedule smoothstep --batch-size 1024 --trainer torch --average-decay 0.999
# from here on labels see twenty turns (--td-lambda 0.95)
SETS="--begin containment:1.5 --begin ace-point --begin blitz"      # shares in this order: the games of a seed depend on it
WILD="--td-lambda 1 --overlooked 0.5 --begin anywhere:3 --begin random-plays:4 --begin back-game --begin containment --begin ace-point --begin blitz --begin primes --begin crashed --begin holding"
TRAIN="--schedule smoothstep --batch-size 1024 --trainer torch --average-decay 0.999"
bgdata train games wild --network diverse-11 --games 20000 --seed 131 $WILD
bgdata train games unlikely --network diverse-11 --games 170000 --likely 18 --overlooked 0.02 --seed 132 --doubts training_games/wild-by-diverse-11-20000-seed-131 --begin opening:6 --begin doubtful:6 --begin anywhere:3 --begin random-plays:3 --begin back-game:3 $SETS --begin primes:1.5 --begin crashed:1.5 --begin holding:0.5
bgdata train sl diverse-12 --start network/diverse-11 --labels training_games/unlikely-by-diverse-11-170000-seed-132 --epochs 3 --epoch-rows 3500000 --learning-rate 0.0005 $TRAIN --device cuda
bgdata train games wild --network diverse-11 --games 60000 --seed 121 $WILD
bgdata train games unlikely --network diverse-11 --games 300000 --likely 18 --overlooked 0.02 --seed 122 --doubts training_games/wild-by-diverse-11-60000-seed-121 --begin opening:3 --begin doubtful:6 --begin anywhere:3 --begin random-plays:3 --begin back-game:2.5 $SETS --begin primes:1.5 --begin crashed:1.5 --begin holding:0.5
# and so for diverse-13 (seed 141, 8,000 games), diverse-14 and diverse-15 (seeds 151 and 161, 20,000 games, most=1500000)
bgdata selfplay --player network/diverse-11 --games 8000 --seed 121
bgdata build play_sample --set player=network/diverse-11 --set version=... --set games=8000 --set seed=121 --set "classes=contact crashed race" --set most=300000 --set within=6 --set network=diverse-11 --set network_version=...
bgdata label play_sample/... --engine lookahead --network diverse-11
bgdata train sl diverse-13 --start network/diverse-12 --labels training_games/unlikely-by-diverse-11-300000-seed-122:4 --labels lookahead_labels/...:2 --epochs 10 --epoch-rows 4000000 --learning-rate 0.0006 $TRAIN
bgdata train games unlikely --network diverse-13 --games 300000 --likely 14 --overlooked 0.02 --seed 142 --doubts training_games/wild-by-diverse-11-60000-seed-121 --begin opening:3 --begin doubtful:6 --begin anywhere:3 --begin random-plays:3 --begin back-game:3 $SETS --begin primes:1.5 --begin crashed:1.5 --begin holding:0.5
bgdata label training_games/wild-by-diverse-11-60000-seed-121 --engine lookahead --network diverse-13
bgdata train sl diverse-14 --start network/diverse-13 --labels training_games/unlikely-by-diverse-13-300000-seed-142:4 --labels training_games/unlikely-by-diverse-11-300000-seed-122:1 --labels lookahead_labels/...:2 --labels lookahead_labels/training-games-wild-...:2 --epochs 12 --epoch-rows 4000000 --learning-rate 0.0006 $TRAIN
bgdata train games unlikely --network diverse-14 --games 400000 --likely 14 --overlooked 0.02 --seed 152 --doubts training_games/unlikely-by-diverse-13-300000-seed-142 --begin opening:3 --begin doubtful:6 --begin anywhere:3 --begin random-plays:3 --begin back-game:4 $SETS --begin primes:2 --begin crashed:2 --begin holding:0.5
bgdata label training_games/wild-by-diverse-11-60000-seed-121 --engine lookahead --network diverse-14
bgdata train sl diverse-15 --start network/diverse-14 --labels training_games/unlikely-by-diverse-14-400000-seed-152:4 --labels training_games/unlikely-by-diverse-13-300000-seed-142:1 --labels lookahead_labels/...:4 --labels lookahead_labels/training-games-wild-...:1.5 --epochs 14 --epoch-rows 4000000 --learning-rate 0.0006 $TRAIN
bgdata train games unlikely --network diverse-15 --games 450000 --likely 14 --overlooked 0.02 --seed 162 --doubts training_games/unlikely-by-diverse-14-400000-seed-152 --begin opening:3 --begin doubtful:6 --begin anywhere:3 --begin random-plays:3 --begin back-game:4 $SETS --begin primes:2 --begin crashed:2 --begin holding:0.5
bgdata label training_games/wild-by-diverse-11-60000-seed-121 --engine lookahead --network diverse-15
bgdata train sl diverse-16 --start network/diverse-15 --labels training_games/unlikely-by-diverse-15-450000-seed-162:4 --labels training_games/unlikely-by-diverse-14-400000-seed-152:1 --labels lookahead_labels/...:4 --labels lookahead_labels/training-games-wild-...:1.5 --epochs 14 --epoch-rows 4000000 --learning-rate 0.0006 $TRAIN
bgdata train sl diverse-17 --start network/diverse-16 --add-inputs contact --labels training_games/unlikely-by-diverse-15-450000-seed-162:4 --labels training_games/unlikely-by-diverse-14-400000-seed-152:1 --labels lookahead_labels/...:4 --labels lookahead_labels/training-games-wild-...:1.5 --epochs 14 --epoch-rows 4000000 --learning-rate 0.001 $TRAIN
# ordinary plays of diverse-17 and those after it: 40,000 games, seeds 171 and 181, most=3000000
bgdata train games unlikely --network diverse-17 --games 200000 --likely 14 --overlooked 0.02 --seed 172 --doubts training_games/unlikely-by-diverse-15-450000-seed-162 --begin opening:3 --begin doubtful:6 --begin anywhere:3 --begin random-plays:3 --begin back-game:4 $SETS --begin primes:2 --begin crashed:2 --begin holding:0.5
bgdata label training_games/wild-by-diverse-11-60000-seed-121 --engine lookahead --network diverse-17
bgdata train sl diverse-18 --start network/diverse-17 --labels training_games/unlikely-by-diverse-17-200000-seed-172:3 --labels training_games/unlikely-by-diverse-15-450000-seed-162:2 --labels lookahead_labels/...:5 --labels lookahead_labels/training-games-wild-...:1.5 --epochs 20 --epoch-rows 4000000 --learning-rate 0.0008 $TRAIN
bgdata train games unlikely --network diverse-18 --games 200000 --likely 14 --overlooked 0.02 --seed 182 --doubts training_games/unlikely-by-diverse-17-200000-seed-172 --begin opening:3 --begin doubtful:6 --begin anywhere:3 --begin random-plays:3 --begin back-game:6 $SETS --begin primes:2 --begin crashed:2 --begin holding:0.5
bgdata train sl diverse-19 --start network/diverse-18 --labels training_games/unlikely-by-diverse-18-200000-seed-182:3 --labels training_games/unlikely-by-diverse-17-200000-seed-172:2 --labels training_games/unlikely-by-diverse-15-450000-seed-162:1 --labels lookahead_labels/...:4 --labels lookahead_labels/...:2 --labels lookahead_labels/training-games-wild-...:1 --epochs 20 --epoch-rows 4000000 --learning-rate 0.0008 $TRAIN
