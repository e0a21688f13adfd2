"""A money session that gnubg saved in both formats, without statistics: it has every answer to a double."""

# beavered, then resigned double; raccoon, then resigned; beaver passed; raccoon passed; redouble beavered, then
# resigned; double passed; rolled, then resigned; resigned triple. $ marks trailing blanks
MAT = """\
; [EventDate "2026.11.21"]

 0 point match

 Game 1
 gnubg : 0                      root : 0
  1)                             21: 13/11 24/23 $
  2) 52: 13/8 24/22              63: 11/5 8/5 $
  3)  Doubles => 2                Beavers => 4
  4) 53: 8/3 6/3                 62: 13/7 7/5 $
  5) 42: 8/4 6/4                 $
      Wins 8 points

 Game 2
 gnubg : 8                      root : 0
  1) 41: 13/9 24/23              31: 8/5 6/5 $
  2) 21: 24/22 23/22              Doubles => 2
  3)  Beavers => 4                Beavers => 8
  4)                             43: 24/20 13/10 $
  5) 65: 9/3 8/3                 52: 13/8 10/8 $
                                  Wins 8 points

 Game 3
 gnubg : 8                      root : 8
  1)                             51: 13/8 24/23 $
  2) 52: 13/8 24/22              65: 24/18 23/18 $
  3)  Doubles => 2                Beavers => 4
  4)  Drops                       Wins 2 points $

 Game 4
 gnubg : 8                      root : 10
  1)                             32: 24/21 13/11 $
  2) 63: 13/7 7/4*               62: 25/23 24/18 $
  3)  Doubles => 2                Beavers => 4
  4)  Beavers => 8                Drops
      Wins 4 points

 Game 5
 gnubg : 12                     root : 10
  1)                             51: 13/8 24/23 $
  2) 42: 8/4 6/4                 66: 13/7 13/7 8/2 8/2
  3)  Doubles => 2                Takes
  4) 22: 24/22 24/22 13/11 13/11  Doubles => 4
  5)  Beavers => 8               54: 24/20 20/15 $
  6) 66: 22/16 16/10* 8/2* 8/2   $
      Wins 8 points

 Game 6
 gnubg : 20                     root : 10
  1)                             31: 8/5 6/5 $
  2) 43: 13/9 24/21              53: 24/21 21/16* $
  3) 52: 25/23 13/8               Doubles => 2
  4)  Drops                       Wins 1 point $

 Game 7
 gnubg : 20                     root : 11
  1) 31: 8/5 6/5                 32: 13/10 24/22 $
  2) 43: 24/20 6/3*              63: $
      Wins 1 point

 Game 8
 gnubg : 21                     root : 11
  1) 32: 24/21 13/11             63: 13/7 7/4* $
  2) 65: 25/20 20/14             22: 24/22 13/11* 13/11 6/4
                                  Wins 3 points

""".replace("$\n", "\n")
SGF = """\
(;FF[4]GM[6]AP[GNU Backgammon:1.07.001]MI[length:0][game:0][ws:0][bs:0]PW[gnubg]PB[root]DT[2026-11-21]RU[Jacoby]RE[W+8R]
;B[21lnab];W[52mhxv];B[63ntqt];W[double];B[double];W[take];W[53hcfc];B[62lrrt];W[42hdfd])
(;FF[4]GM[6]AP[GNU Backgammon:1.07.001]MI[length:0][game:1][ws:8][bs:0]PW[gnubg]PB[root]RU[Jacoby]RE[B+8R]
;W[41mixw];B[31qtst];W[21xvwv];B[double];W[double];B[double];W[take];B[43aelo];W[65ichc];B[52lqoq])
(;FF[4]GM[6]AP[GNU Backgammon:1.07.001]MI[length:0][game:2][ws:8][bs:8]PW[gnubg]PB[root]RU[Jacoby]RE[B+2]
;B[51lqab];W[52mhxv];B[65agbg];W[double];B[double];W[drop])
(;FF[4]GM[6]AP[GNU Backgammon:1.07.001]MI[length:0][game:3][ws:8][bs:10]PW[gnubg]PB[root]RU[Jacoby]RE[W+4]
;B[32adln];W[63mggd];B[62ybag];W[double];B[double];W[double];B[drop])
(;FF[4]GM[6]AP[GNU Backgammon:1.07.001]MI[length:0][game:4][ws:12][bs:10]PW[gnubg]PB[root]RU[Jacoby]RE[W+8R]
;B[51lqab];W[42hdfd];B[66lrlrqwqw];W[double];B[take];W[22xvxvmkmk];B[double];W[double];B[take];B[54aeej];W[66vppjhbhb])
(;FF[4]GM[6]AP[GNU Backgammon:1.07.001]MI[length:0][game:5][ws:20][bs:10]PW[gnubg]PB[root]RU[Jacoby]RE[B+1]
;B[31qtst];W[43mixu];B[53addi];W[52ywmh];B[double];W[drop])
(;FF[4]GM[6]AP[GNU Backgammon:1.07.001]MI[length:0][game:6][ws:20][bs:11]PW[gnubg]PB[root]RU[Jacoby]RE[W+1R]
;W[31hefe];B[32loac];W[43xtfc];PL[B]DI[63])
(;FF[4]GM[6]AP[GNU Backgammon:1.07.001]MI[length:0][game:7][ws:21][bs:11]PW[gnubg]PB[root]RU[Jacoby]RE[B+3R]
;W[32xumk];B[63lrru];W[65yttn];B[22aclnlnsu])
"""
