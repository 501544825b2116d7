// @ts-check
/**
 * Characters that pass for others: the table of UTS 39 (confusables.txt, Unicode 18), as crate `unicode-security` has it.
 * Entries are parted by commas: what they look like (code points, `+` between them), a colon, the characters that look
 * so, `-n` where n more follow. Numbers are in base 36.
 */

const TABLE =
  'w:4g 4g0 6bm-8 6co-1 6cv 6e7 7wg 9hc,x:cj 8y9 1e6t 1e8n 1edd,x+x:6d8,x+1r:6dl,z:1e8v 1edf,10:13a 1e95 1edg,10+' +
  '6hs:2q6n,12:x2w 1e8w 1edi 2r8y 2r90-1,13:2o 50 jd jf-3 js ju-1 l0 p0 122-1 125 15l 16b 1kk-1 40a 4i4 69p 69r 6' +
  'bi 6c8-1 6cb 6cy 6d1 8vz x3f-1 1edj 1ef4 20k1-1 2onf,13+13:y je kd ku l2 16a 16c 5oz 6cc-1 6cf 6cz 6d2 9hf 1ed' +
  'e,13+13+13:6d0 6d3,13+13+13+13:6dz,13+1u:ap,13+1w:ay,13+28:bo,13+2c:bw,13+2h:c3,13+32:95,14:7s8 7si 95u 9hw 1e' +
  '0u 1e8p 1e8t 1edk 1etd,14+14:948,14+1e+15:779,14+1e+27+15:77r,14+1f+15:77a,14+1g+15:77b,14+1h+15:77c,14+1i+15:' +
  '77d,14+1j+15:77e,14+1k+15:77f,14+1l+15:77g,14+1t+15:2q6o,14+1u+15:2q6p,14+1v+15:2q6q,14+1w+15:2q6r,14+1x+15:2q' +
  '6s,14+1y+15:2q6t,14+1z+15:2q6u,14+20+15:2q6v,14+22+15:2q6x,14+23+15:2q6y,14+24+15:2q6z,14+25+15:2q70,14+26+15:' +
  '2q71,14+27+15:2q72,14+28+15:2q73,14+29+15:2q74,14+2a+15:2q75,14+2b+15:2q76 2q7e,14+2c+15:2q77,14+2d+15:2q78,14' +
  '+2e+15:2q79,14+2f+15:2q7a,14+2g+15:2q7b,14+2h+15:2q7c,14+2i+15:2q7d,14+2p+15:78c,14+2q+15:78d,14+2r+15:78e,14+' +
  '2s+15:78f,14+2t+15:78g,14+2u+15:78h,14+2v+15:78i,14+2w+15:78j,14+2x+15:78k,14+2y+15:78l,14+2z+15:78m,14+30+15:' +
  '778 78n 2q6w,14+30+1e+15:77j,14+30+1f+15:77k,14+30+1g+15:77l,14+30+1h+15:77m,14+30+1i+15:77n,14+30+1j+15:77o,1' +
  '4+30+1k+15:77p,14+30+1l+15:77q,14+30+27+15:77h,14+30+30+15:77i,14+32+15:78p,14+33+15:78q 9vr,14+33+3fl+15:9w5,' +
  '14+33+3ft+3d8+3fp+3cy+15:9wd,14+33+3ft+3de+3fy+15:9we,14+34+15:78r,14+35+15:78s,14+36+15:78t,14+36+32+15:78o,1' +
  '4+37+15:78u,14+38+15:78v,14+39+15:78w,14+3a+15:78x,14+3b+15:78y,14+3c+15:78z,14+3d+15:790,14+3e+15:791,14+3cw+' +
  '15:9vk,14+3cw+3fl+15:9vy,14+3cy+15:9vl,14+3cy+3fl+15:9vz,14+3cz+15:9vm,14+3cz+3fl+15:9w0,14+3d1+15:9vn,14+3d1+' +
  '3fl+15:9w1,14+3d2+15:9vo,14+3d2+3fl+15:9w2,14+3d3+15:9vp,14+3d3+3fl+15:9w3,14+3d5+15:9vq,14+3d5+3fl+15:9w4,14+' +
  '3d8+15:9vs,14+3d8+3fl+15:9w6,14+3d8+3fy+15:9wc,14+3da+15:9vt,14+3da+3fl+15:9w7,14+3db+15:9vu,14+3db+3fl+15:9w8' +
  ',14+3dc+15:9vv,14+3dc+3fl+15:9w9,14+3dd+15:9vw,14+3dd+3fl+15:9wa,14+3de+15:9vx,14+3de+3fl+15:9wb,14+9oc+15:9wg' +
  ',14+fer+15:9wm,14+fex+15:9wi 2qf5,14+fh9+15:9wo,14+fik+15:9wh 2qf6,14+fis+15:9wk,14+fkz+15:9x5,14+flt+15:9x9,1' +
  '4+fm9+15:9xd,14+g2z+15:9wn,14+g31+15:9wl,14+gc4+15:9x4,14+gd9+15:2qfb,14+gg1+15:9wp,14+ggk+15:9xb,14+glp+15:9x' +
  '0,14+gos+15:9x6,14+h5n+15:9wj,14+h7j+15:9wv,14+i1y+15:9x7,14+i2x+15:2qf7,14+jf7+15:2qf9,14+k0n+15:2qfc,14+k4l+' +
  '15:9ww,14+kco+15:9wq,14+kcp+15:9wy,14+kdk+15:9wt,14+kdo+15:2qf4,14+kkq+15:9wx,14+ldg+15:9ws,14+m7f+15:9wr,14+m' +
  '9l+15:2qf8,14+mm1+15:9x1,14+nh3+15:2qfa,14+nhf+15:9x8,14+ny6+15:9wz,14+nz1+15:9x3,14+nzh+15:9xc,14+pnu+15:9xe,' +
  '14+po3+15:9xf,14+rs1+15:9x2,14+rt3+15:9xa,14+ssx+15:9wu,15:7s9 7sj 95v 9hx 1e0v 1e8q 1e8u 1edl 1etc,15+15:949,' +
  '16:19p 6dq 6qf 1e8x 1edm 1f6n,16+16:48f,17:3zd 474 4j1 7th 1e8y 1edn 1f2z 1hsl 1z6x 2o6h,17+le:8bn,17+lf:8bo,1' +
  '7+lj:6qc,17+lm:8bm,17+mb:8bp,17+mo:8bq,17+6f6:8br,18:54 171 19n 6ca 93m wl5 1e8g 1edo 20k3,19:k7 1ck 4lp 5ir 6' +
  'c0-3 6df 6qa 7ti 8u2-1 xod 1e8o 1e8z 1evl,19+1a:wla,19+lj:6rc 8tu-1 1dm1,19+lk:93u,19+lv:8bt,19+mb:8bu,1a:19c ' +
  '1dc 1dt-1 6ck wl4 wsu xyk 1e8i 1edq 1gls 2jxp 2pbi,1a+18:wl7,1a+1a:6cl wl6,1a+1a+1a:6cm,1b:4l1 6dd 6dg 6qd 7e9' +
  ' 7uz 8ag 8ue-1 9ab 9ir 9n2 9ua-1 fgf 1edr 1eh5 2k3e,1b+1b:8hp,1b+1b+1b:8hn,1b+lg:8ae,1e:br rs 3bb 43j 4d2 5o7 ' +
  'wuc wz3 x22 1edu 2j1u 2l74 2l7e 2l7o 2l7y 2l88 2sc2,1e+18:2q6b,1e+1a:77t,1e+1b+1f:6l0,1e+1b+1h:6l2,1e+1e+k4l:a' +
  '9h,1e+1e+m9l:a5q,1e+1f+k4l:a9i,1e+1f+m9l:a5r,1e+1g+k4l:a9j,1e+1g+m9l:a5s,1e+1h+k4l:a9k,1e+1i+k4l:a9l,1e+1j+k4l' +
  ':a9m,1e+1k+k4l:a9n,1e+1l+k4l:a9o,1e+27+1a:78b,1e+27+k4l:a9f,1e+27+m9l:a5o,1e+30+k4l:a9g,1e+30+m9l:a5p,1e+mt:cb' +
  ',1e+k4l:a8x,1e+kco:a0x,1e+m9l:a56,1f:c7 f0 t3 yo 11h 1ux 25l 4jm 5n9 8t8 8uc 8uk x2i x4b 1edv 1jgq 20jf 2j1v 2' +
  'k1y 2l75 2l7f 2l7p 2l7z 2l89 2sc3,1f+18:2q6c,1f+1a:77u,1f+1b+1g:5a,1f+1b+1h:6l3,1f+1b+1k:6l8,1f+27+k4l:a9p,1f+' +
  '30+k4l:a9q,1f+li+lj:xdi,1f+me:wo,1f+k4l:a8y,1f+kco:a0y,1f+m9l:a57,1g:3wu xwe 1edw 1jfz 20ea 2j1w 2l76 2l7g 2l7' +
  'q 2l80 2l8a 2sc4,1g+18:2q6d,1g+1a:77v,1g+1b+1h:6l4,1g+53:46o,1g+k4l:a8z,1g+kco:a0z,1g+m9l:a58,1h:cc 1edx 1jgb ' +
  '2j1x 2l77 2l7h 2l7r 2l81 2l8b 2sc5,1h+18:2q6e,1h+1a:77w,1h+1b+1i:6l6,1h+1b+1k:6l9,1h+k4l:a90,1h+kco:a10,1h+m9l' +
  ':a59,1i:rw tt 3xq 8uq-1 8v0 wn7 xxa 1edy 1jh1 2j1y 2l78 2l7i 2l7s 2l82 2l8c 2sc6,1i+18:2q6f,1i+1a:77x,1i+k4l:a' +
  '91,1i+kco:a11,1i+m9l:a5a,1j:4kq 5ms 1edz 1fiq 1jgm 20ei 2j1z 2k1q 2k2a 2l79 2l7j 2l7t 2l83 2l8d 2sc7,1j+18:2q6' +
  'g,1j+1a:77y,1j+1b+1k:6la,1j+k4l:a92,1j+kco:a12,1j+m9l:a5b,1k:f6-1 1yi 222 26b wp5 1ee0 1f6i 1ikl 1zi6 2j20 2l7' +
  'a 2l7k 2l7u 2l84 2l8e 2ojv 2sc8,1k+18:2q6h,1k+1a:77z,1k+k4l:a93,1k+kco:a13,1k+m9l:a5c,1l:1yl 21z 294 2nh 8ui-1' +
  ' x2m-1 1ee1 1jfw 1jgs 1jh2 1zgh 2j21 2l7b 2l7l 2l7v 2l85 2l8f 2nea 2sc9,1l+18:2q6i,1l+1a:780,1l+53:wyl,1l+k4l:' +
  'a94,1l+kco:a14,1l+m9l:a5d,1m:k0 l4 13d 14z 1dv-1 1m9 1s3 22r 3tt 3v7 4j0 4qr 4qx 6e2 6ra wl9 x3d 1e6r 1e7k 1e8' +
  'l 1ee2 1eu3 1gqd 1hqa 1htu 1i0y 1i62 1iv2 1j1o 1jco 1kgp 2juw,1m+1m:6rb 94c,1m+1m+1p:8dw,1m+1p:6s4,1m+6mq:8ac,' +
  '1n:1e6s 1e8k 1ee3,1o:jm 3zs 4he 6d5 7se 8yu 1e90 1ee4 1f71 1zos 2k3a,1o+1o:6sq,1o+1o+1o:6vs,1o+53:405 6vq 8tw-' +
  '1,1p:3y8 94w 9ls wlb wss x3e 1e92 1ee5 1evk 1hsj,1p+1m:6s5,1p+1p:8dx,1p+1p+1p:8dy,1p+le:6s9,1p+li:6sa,1p+lj:6s' +
  '0,1p+lm:6s7,1p+mb:8di,1p+mb+lj:6s1,1p+ob:6se,1p+59u:8ly,1p+6i8:8dq,1q:jn 3zn 6d6 7sf 1e91 1ee6 20jj 2k3b,1q+1o' +
  ':8f9,1q+1q:6sr 8bk,1q+1q+1q:6vt,1q+53:401,1r:g1 ic 1vh 3vy wyz 1e6u 1e8m 1ee7,1r+x:6dk,1r+1r:6dj,1s:1e97 1ee8,' +
  '1t:pd sw 3vu 4at wku 1ee9 1f34 20jk 2j12 2kg0 2khg 2kiw 2kkc 2kls 2kn8 2koo 2kq4 2krk 2kt0 2kug 2kvw 2kxc 2kyw' +
  ' 2l0i 2l24 2l3q 2l5c 2mp6,1t+1b+36+32:a8v,1t+1t:x0y,1t+1x:5i yc,1t+27:x10,1t+2a:2rd3,1t+2d:a5v x12,1t+2e:x14 x' +
  '16,1t+2h:x18,1t+mt:2mo0,1u:pe sy 3xw 4c7 6jw 8si wk0 wnr x4k 1eea 1f2a 1f35 1f5t 2j13 2kg1 2khh 2kix 2klt 2kn9' +
  ' 2kop 2kq5 2krl 2kt1 2kuh 2kvx 2kxd 2kyx 2l0j 2l25 2l3r 2l5d,1u+35:a83,1v:s9 td 3xb 6iq 6jx 6lp 8tg wka 1eeb 1' +
  'f36 1f5u 1fdh 1fkr 1jhl 1jhu 2j14 2kg2 2khi 2kiy 2kke 2klu 2kq6 2krm 2kt2 2kui 2kvy 2kxe 2rf0,1v+13:av,1v+1b+2' +
  'z+2v:a86,1v+33+1a:a87,1v+me:x6,1v+6hs:2q9a,1v+6i3:6g1,1w:3vk 4bi 4bu 6kl 6lq wk3 1eec 2j15 2kg3 2khj 2kiz 2kkf' +
  ' 2klv 2knb 2kor 2kq7 2krn 2kt3 2kuj 2kvz 2kxf,1w+22:2qa8,1w+2i:dt,1w+2i+li:ck,1w+3e:du,1w+3e+li:cl,1w+mt:5s 7k' +
  ' ax,1x:ph t1 3vw 6k0 6wv 8xl wkw wqz 1eed 1f2e 1jfq 1jfy 2j16 2kg4 2khk 2kj0 2klw 2knc 2kos 2kq8 2kro 2kt4 2ku' +
  'k 2kw0 2kxg 2kz0 2l0m 2l28 2l3u 2l5g 2mpt,1x+mw:g6,1y:rg 1jn 4ac 6k1 wkd x3s 1eee 1f2f 1f39 1fl1 1jfm 1jgi 2j1' +
  '7 2k2b 2kg5 2khl 2kj1 2klx 2knd 2kot 2kq9 2krp 2kt5 2kul 2kw1 2kxh 2l6y,1y+1t+2g:6kb,1y+me:b5,1z:zw 3wg 3xv wk' +
  '6 1eef 2j18 2kg6 2khm 2kj2 2kki 2kly 2kne 2kou 2kqa 2krq 2kt6 2kum 2kw2 2kxi,1z+13:b7,1z+1u:a6f,1z+20+3e:a6r,1' +
  'z+28+2p:a7g,1z+3d:a89,1z+mt:dg,20:pj t9 3wb 48s 6iz-2 8su wkn 1eeg 1f4f 2j19 2kg7 2khn 2kj3 2klz 2kqb 2krr 2kt' +
  '7 2kun 2kw3 2kxj 2kz2 2l0o 2l2a 2l3w 2l5i,20+28:a8b,20+2v:a18,20+3e:a6o,20+me:xz y1,20+mh:wy 8rr,20+mt:86,22:o' +
  'v so 3vv 425 wk9 x4i 1eei 2j1b 2kg9 2khp 2kj5 2kkl 2km1 2knh 2kox 2kqd 2krt 2kt9 2kup 2kw5 2kxl,22+53:42h,22+m' +
  't:g8,23:pm t6 3xi 4id 8t0 wk7 1eej 1fko 2j1c 2kga 2khq 2kj6 2kkm 2km2 2kni 2koy 2kqe 2kru 2kta 2kuq 2kw6 2kxm ' +
  '2kz5 2l0r 2l2d 2l3z 2l5l,23+13:bc,23+1u:a6d,23+23:a8d,23+25:a8e,23+mh:wq 8rt,23+mt:wu 6gd x1c 2mo8,24:3xa 42y ' +
  '6j6 6lo 8uo wkh 1eek 1fdn 1fl2 1jfn 1jg2 20ie 2j1d 2k2y 2kgb 2khr 2kj7 2km3 2knj 2koz 2kqf 2krv 2ktb 2kur 2kw7' +
  ' 2kxn,24+22:cn,24+2c+1w:a1b,24+2y:co,24+53:8v 43b,24+mw:8x,25:po sa t8 3w7 4c0 4ie 6k3 6lr 8t4 wkf 1eel 1f3k 1' +
  'f69 1gyp 2j1e 2kgc 2khs 2kj8 2km4 2knk 2kp0 2kqg 2krw 2ktc 2kus 2kw8 2kxo 2kz7 2l0t 2l2f 2l41 2l5n,25+1u:a6e 2' +
  'rfv,25+20+3e:a6q,25+28+2p:a7f,25+2e:a7t,25+2f:a7z,25+me:y5,25+mt:2moa,25+q1:a81,26:pp 6j9 8t6 wkg 1eem 1fkj 1j' +
  'um 2j1f 2kgd 2kht 2kj9 2kkp 2km5 2knl 2kqh 2krx 2ktd 2kut 2kw9 2kxp 2kz8 2l0u 2l2g 2l42 2l5o,26+22:cq,26+2y:cr' +
  ',26+33:6ja,26+lm:1evi,26+me:bh,26+mt:2mod,27:1c pr ta 11x 1j4 274 2jq 3ps 5of 8ta 8yc 9hj wkz 1eds 1een 1f2q 1' +
  'f3f 1f67 1fd0 1fia 1fkm 1gyf 1jg5 1jhc 1kgw 1zop 2j1g 2j1s 2kge 2khu 2kja 2kkq 2km6 2knm 2kp2 2kqi 2kry 2kte 2' +
  'kuu 2kwa 2kxq 2kza 2l0w 2l2i 2l44 2l5q 2l72 2l7c 2l7m 2l7w 2l86 2n28 2ne8 2sc0,27+18:2q69,27+1a:2q68,27+1x:9e,' +
  '27+27:wwo x1q,27+3d:vs,27+lk:6zp,27+m3:3vo,27+mt:bj pk qg r5 s4 vm yw 3sw 3we 3xn 6ty 6u5 6zw 8sw 8xd x1m 1fku' +
  ' 1zff 20e8 2k2i 2kz3 2kzd 2kzt 2l0d 2l0p 2l0z 2l1f 2l1z 2l2b 2l2l 2l31 2l3l 2l3x 2l47 2l4n 2l57 2l5j 2l5t 2l69' +
  ' 2l6t 2rdg,27+mt+me:2mnw,27+mw:60 6px 6ww 8xt,27+m9l:a54,28:pt tc 3xe 419 6jd 8te 8um wk1 1eeo 1f2t 2j1h 2kgf ' +
  '2khv 2kjb 2kkr 2km7 2knn 2kqj 2krz 2ktf 2kuv 2kwb 2kxr 2kzc 2l0y 2l2k 2l46 2l5s,28+13:41y,28+20:a8n,28+28+25:a' +
  '8p,28+2a:a8q,28+2c+1x:9xs,28+2p:a7d,29:10a 6je 8yd 1eep 2j1i 2kgg 2khw 2kjc 2kks 2km8 2kno 2kqk 2ks0 2ktg 2kuw' +
  ' 2kwc 2kxs,29+1x:2rcw,2a:bq gc 3vl 3wy 493 6jf-2 wkj 1eeq 1fhw 20j9 2j1j 2k2e 2kgh 2khx 2kjd 2km9 2kql 2ks1 2k' +
  'th 2kux 2kwd 2kxt,2a+37:6g8,2b:sl 11r 3b1 3ct 3x1 3x6 5od wki wom 1eer 1f2u 1fds 1zo6 20je 2j1k 2kgi 2khy 2kje' +
  ' 2kku 2kma 2knq 2kp6 2kqm 2ks2 2kti 2kuy 2kwe 2kxu,2b+3a:a8s,2b+mg:x51,2c:pw te 1k0 3vm 6uc 7vd 8ti 9oy fet wk' +
  '4 wln 1ees 1f2v 1f3l 1f6d 1jgc 20i2 2j1l 2kc3 2kgj 2khz 2kjf 2kkv 2kmb 2knr 2kp7 2kqn 2ks3 2ktj 2kuz 2kwf 2kxv' +
  ' 2kzf 2l11 2l2n 2l49 2l5v 2rfs,2c+1f:x0o,2c+1x+24:6jl,2c+20+3e:a6s,2c+lk:6zl,2c+mg:by wwc,2c+mh:x8,2c+mt:9y,2c' +
  '+mw:fy,2c+6i3:6ge,2d:11p 3k0 40c 6qy 6v7 wl0 1eet 1fim 1jg8 20jm 2j1m 2kgk 2ki0 2kjg 2kkw 2kmc 2kns 2kp8 2kqo ' +
  '2ks4 2ktk 2kv0 2kwg 2kxw,2d+13:413,2d+53:40o,2d+mt:g4 3ws,2e:vo 19j 1dj 3x5 3zj 6lg 8xk wkm wyn 1eeu 1fkt 1gyn' +
  ' 1jfk 20i0 2j1n 2jgc 2k25 2kgl 2ki1 2kjh 2kkx 2kmd 2knt 2kp9 2kqp 2ks5 2ktl 2kv1 2kwh 2kxx 2n2d,2e+1b+36+32:a8' +
  'u,2e+1u:2rfw,2e+30:6lh,2e+30+30:6li,2e+30+30+30:6lj,2e+53:3zv,2e+mt:1evr 2moh,2e+5wk:2rd4,2f:10c 3w3 3x0 wkq 1' +
  'eev 1jhi 1jhr 2j1o 2k24 2kgm 2ki2 2kji 2kky 2kme 2knu 2kpa 2kqq 2ks6 2ktm 2kv2 2kwi 2kxy,2f+2q:a8t,2f+mt:6g9 1' +
  'ejq,2g:pz th 4fh 4hj 5px 6ll 7eb 8to 8yl wkr x4j 1eew 1f2o 1f3o 1f6f 1f6q 1fl3 1gyb 1h1e 1h4s 1jho 2j1p 2kgn 2' +
  'ki3 2kjj 2kkz 2kmf 2knv 2kpb 2kqr 2ks7 2ktn 2kv3 2kwj 2kxz 2kzi 2l14 2l2q 2l4c 2l5y,2g+30:6lm,2g+30+30:6ln,2g+' +
  'mh:xe,2g+mt:1evq,2h:px r6 tf xa 1jg 3vt 3wd 8tk 9p6 ffv wks 1eex 1f3m 1gyo 1jfo 20jn 2j1q 2kgo 2ki4 2kjk 2kl0 ' +
  '2kmg 2knw 2kpc 2kqs 2ks8 2kto 2kv4 2kwk 2ky0 2kzg 2l12 2l2o 2l4a 2l5w,2h+lj:wxe,2h+mt:4l ge xc 1ejp,2i:pi 3bh ' +
  '3wj 6jo 6js 8rv 8ss wkc wy1 1eey 1f5h 1fk7 1jft 1jhh 1juk 2j1r 2kgp 2ki5 2kjl 2kl1 2kmh 2kqt 2ks9 2ktp 2kv5 2k' +
  'wl 2ky1 2kz1 2l0n 2l29 2l3v 2l5h,2i+me:f8,2i+mt:c5,2j:1eez,2j+mp:87f,2k:6qe 7ea 7v1 8ad 8ah 9aa 9uc fg6 1e94 1' +
  'ef0 2k27 2k3f,2k+2k:762 8vt,2k+40l:7uw,2l:1ef1,2l+53+2j:8ns,2l+mp:87g,2m:jo jq 4wk 5ve 1e7z 1ef2,2n:18g 1kq 1e' +
  '8d-2 1ef3 1sch,2n+ld:1e9j,2n+ld+ld:1e9d,2n+ld+1h5z:1dyq,2n+lm:1e9r,2n+lv:1e9l,2n+lv+1h5z:1dyr,2n+18w:1e9n,2n+1' +
  '8w+1h5z:1dys,2n+1h5z:1e9p,2p:gh q9 ts 70a xus 1ef5 2kgq 2ki6 2kjm 2kl2 2kmi 2kny 2kpe 2kqu 2ksa 2ktq 2kv6 2kwm' +
  ' 2ky2 2kzm 2l18 2l2u 2l4g 2l62 2moq,2p+13:61m,2p+1a+36+32+1a:a82,2p+1b+2r:6io,2p+1b+37:6ip,2p+2p:x0z,2p+2t:6e ' +
  'yd,2p+33:x11,2p+39:x13,2p+3a:x15 x17,2p+3d:x19,2p+mq:706,2p+mt:2mo1,2q:as to 1jp 3wv 41e 4a7 1ef6 1f6k 20fq 2k' +
  '1z 2kgr 2ki7 2kjn 2kl3 2kmj 2knz 2kpf 2kqv 2ksb 2ktr 2kv7 2kwn 2ky3,2q+13:420,2q+2p+36:a5w,2q+30:tn,2q+53:41r,' +
  '2q+lg:aq-1 sx,2q+lj:41f,2q+lj+53:41t,2q+lw:gj,2q+mt:ao v6-1 wc-1,2r:s2 u9 35w 38a 5mr 5qc 6m5 8th xwv 1ef7 1fe' +
  'l 2jw4 2kgs 2ki8 2kjo 2kl4 2kmk 2ko0 2kpg 2kqw 2ksc 2kts 2kv8 2kwo 2ky4,2r+1b+33:6it,2r+1b+39:6iu,2r+2p+30:a6g' +
  ',2r+2r:a84,2r+2r+6hp:2q99,2r+2s:a85,2r+33:xtv,2r+33+mw:xtw,2r+36+32:a71,2r+me:x7,2r+mw:4i fw 1ejk,2s:zl 3xj 41' +
  'b 6km 6m6 wk2 1ef8 1evf 2kgt 2ki9 2kjp 2kl5 2kml 2ko1 2kph 2kqx 2ksd 2ktt 2kv9 2kwp 2ky5,2s+13:41z,2s+1u:a88,2' +
  's+2p:a5u,2s+30:a6v,2s+30+f1:2mn4,2s+36+32:a5z,2s+3e:dv ir,2s+3e+li:cm,2s+3e+me:2mni,2s+53:41n,2s+f1:is,2s+i9:i' +
  't,2s+ib:2mnf,2s+lg:az-1,2s+lw:gn,2s+lw+me:2mnh,2s+mg:gm,2s+mt:7l,2s+mt+mp:6gb,2s+6pu+mt:2mn3,2t:tx xp 6jy-1 6k' +
  'n xte 1ef9 2kgu 2kia 2kjq 2kmm 2ko2 2kpi 2kqy 2kse 2ktu 2kva 2kwq 2ky6,2t+2e:a1a,2t+36+2v:a19,2t+mg:xr,2t+mw:g' +
  '7,2u:an b6 hw 138 61p x3t xth 1efa 1ev2 2kgv 2kib 2kjr 2kl7 2kmn 2ko3 2kpj 2kqz 2ksf 2ktv 2kvb 2kwr 2ky7,2u+2u' +
  ':1dkw,2u+2u+2x:1dkz,2u+2u+30:1dl0,2u+2x:1dkx,2u+30:1dky,2u+32+mh:ix,2u+36+32:a6x,2u+38:1dl1,2u+ms:5ta,2v:b1 gx' +
  ' 135 5tv 6iy 1efb 2kgw 2kic 2kjs 2kmo 2ko4 2kpk 2kr0 2ksg 2ktw 2kvc 2kws 2ky8,2v+2p+30:a9r,2v+lw:gw,2v+mt:dh 2' +
  'mo5,2w:xm-1 12o 3ax 3wi 6j2 1efc 2kgx 2kjt 2kl9 2kmp 2ko5 2kpl 2kr1 2ksh 2ktx 2kvd 2kwt 2ky9,2w+28+2p:a5t,2w+2' +
  'p:a8a,2w+lw:h2 3xu wwl,2w+lw+mt:2mo7,2w+mt:87 uz 6j3 2mo6,2w+mt+me:2mnm,2x:4h 8h h5-1 qh uu 136 3vp 6k9 6ko 6l' +
  's 703 8sz wuf xv9 1efd 1jgj 2kgy 2kie 2kju 2kla 2kmq 2ko6 2kpm 2kr2 2ksi 2kty 2kve 2kwu 2kya 2kys 2kzu 2l1g 2l' +
  '32 2l4o 2l6a,2x+2t:2mot,2x+2x:6lt,2x+2x+2x:6lu,2x+2y:8j,2x+32:a8c,2x+3a:6lv,2x+3c:6m0,2x+mq:708,2x+mt:h4 5tn-1' +
  ',2y:fr s3 uw 12t 6kp 1efe 2kgz 2kif 2kjv 2klb 2kmr 2ko7 2kpn 2kr3 2ksj 2ktz 2kvf 2kwv 2kyb 2kyt,2y+mt:g9 gv,2z' +
  ':1eff 2kh0 2kig 2kjw 2klc 2kms 2ko8 2kpo 2kr4 2ksk 2ku0 2kvg 2kww 2kyc,2z+1t:a6c,2z+20+3e:a6p,2z+28+2p:a7e,2z+' +
  '2e:a7s,2z+2f:a7y,2z+2r+2p+30:a6h,2z+2v:a6n,2z+30:a6w,2z+36+32:a72,2z+38:a8f,2z+lw:bd,2z+mt:2mo9,2z+q1:a80,30:1' +
  'd 21 3g ba cg pl sm xs y7 14w 15h 15r 17r 19d 1dd 1je 1us 37u 4ht 4i8 6j4-1 6j7 6lc 6m4 6nz 6qr 73x 7b6-1 8sy ' +
  '8y2 8y7 wky wof x35 x4e x6m x80 xce xnh 1e7l 1ea5-1 1edt 1eeh 1efg 1efw 1ejs 1f2i 1f61 1f6o 1fke 1gdi 1gzi 1h2' +
  'd 1h4q 1hs7 1hvk 1hz5 1i2t 1ihg 1ikr 1iv9 1iyp 1k5d 1kgq 1kgx 206b 20fe 20iw 2j1a 2j1t 2juo 2kc7 2kg8 2kh1 2kh' +
  'o 2kih 2kj4 2kjx 2kld 2km0 2kmt 2ko9 2kow 2kpp 2kqc 2kr5 2krs 2ksl 2kt8 2ku1 2kuo 2kvh 2kw4 2kwx 2kxk 2kyd 2kz' +
  '4 2l0q 2l2c 2l3y 2l5k 2l73 2l7d 2l7n 2l7x 2l87 2n29 2ojr 2pdt 2pkw 2pog 2sc1,30+13:169,30+18:2q6a,30+1a:77s,30' +
  '+1b:6lb,30+1b+1e:59,30+1b+1f:6kz,30+1b+1g:58,30+1b+1h:6l1,30+1b+1i:6l5,30+1b+1k:6l7,30+1e+1a:783,30+1e+k4l:a97' +
  ',30+1e+kco:a17,30+1e+m9l:a5g,30+1f+1a:784,30+1f+k4l:a98,30+1f+m9l:a5h,30+1g+1a:785,30+1g+k4l:a99,30+1g+m9l:a5i' +
  ',30+1h+1a:786,30+1h+k4l:a9a,30+1h+m9l:a5j,30+1i+1a:787,30+1i+k4l:a9b,30+1i+m9l:a5k,30+1j+1a:788,30+1j+k4l:a9c,' +
  '30+1j+m9l:a5l,30+1k+1a:789,30+1k+k4l:a9d,30+1k+m9l:a5m,30+1l+1a:78a,30+1l+k4l:a9e,30+1l+m9l:a5n,30+22:8i,30+24' +
  ':64a,30+27:tq,30+27+1a:781,30+27+k4l:a95,30+27+kco:a15,30+27+m9l:a5e,30+2d:a62,30+2e:6lf,30+2g:6lk,30+2y:cp,30' +
  '+30:ch 168 1ut 37v 6c6 6ld 6qt xcf 1hs8 1hvl 1hz6 1i2u 1ihh 1iks 1iyq 1k5e 2k4i,30+30+1a:782,30+30+30:6le wly,' +
  '30+30+k4l:a96,30+30+kco:a16,30+30+m9l:a5f,30+32:a8h,30+33+2v:a8i,30+36+32:a8g,30+37:iy,30+38:6gm,30+3c:a8j,30+' +
  '3e:iz,30+53:8w,30+f1:ha,30+ib:2mp3,30+ld+ld:1e0s-1,30+lf:1e9t-1,30+mg:h9,30+ms:h7,30+mt:bb be 1zok 2mpa,30+mt+' +
  '30+mt:1evt,30+mt+30+mt+2b+mt:1evs,30+mw:8y 4hx,30+189+30:2pae,30+18j+17s+181:1e5v,30+18k+18k+1h5z+2tk+33:1e5u,' +
  '30+191:19v 1e9z-1,30+19w:19u 19x 1e9v-1,30+4ii:86b,30+6o2:86m,30+k4l:a8w,30+kco:a0w,30+m9l:a55,32:12w 130 1efi' +
  ' 2kh3 2kij 2kjz 2klf 2kmv 2kob 2kpr 2kr7 2ksn 2ku3 2kvj 2kwz 2kyf,32+1t:a69,32+1y:a6j,32+2e:a7p,32+2f:a7v,32+2' +
  'y:cs,32+36+32:a6y,32+37:a7l,32+me:he,32+mg:hf,32+mh:97 bi qf 12q 2kzs 2l1e 2l30 2l4m 2l68,32+mh+mt:2mof,32+ms:' +
  '5tc,32+mt:2moe,33:qn qr rx u6 139 15t 18n 19h 1by 1c1 1cl 1dh 1jf 1mo 1uu 1ye 21y 25i 292 2cm 2de 2g6 2gy 2ki ' +
  '2lc 2na 2o2 2ts 2xc 36l 37k 3cv 3d7 3i4 4ps 56t 58g 58w 5ii 5mq 5qn 5qp 6k4 8tb 9qf xtp 1dpi-7 1ecp-3 1efj 1ei' +
  'f 1fe4 1fje 1gdo 1h53 1hyc 1ibm 1iog 1jgo 1jh3 2kh4 2kik 2kk0 2kmw 2koc 2kps 2kr8 2kso 2ku4 2kvk 2kx0 2kyg 2l0' +
  '0 2l04 2l1m 2l1q 2l38 2l3c 2l4u 2l4y 2l6g 2l6k 2plw 2pok,33+2e:a5x,33+2t:9f,33+2x:2mou,33+30:2pno,33+33:3ev 3j' +
  'i 6qm 9s0 wwp x1r,33+39:2mov,33+3d:vt,33+le:1dr,33+lg+lg:wwy,33+lk:17t 1c3 1eab-1,33+m3:xv8,33+mt:hh vn yx 8sx' +
  ' x1n xvy xx7,33+mw:6w xtq,33+17w:1du9 1dxz,33+18l:1dua 1dy0,33+18l+17w:1e37,33+18l+18l:1e38,33+18p:1dub-1,33+1' +
  '90:1dpg-1,33+2ls+33:2n3,33+2tk:1dy1,33+370:368 3br 56a 1hxy,33+3cw:3ep 3jg,33+3cw+3cw:3jh,33+3cz:3eq,33+3d1:xh' +
  '2,33+3d2:3er,33+3d3:3es,33+3d5:3et 3jl 9s2,33+3d8:3ew,33+3da:3ex,33+3db:3jj,33+3dc:3ey,33+3dd:3ez,33+3de:xh3,3' +
  '3+3eo:3eu 3jm 9s3,33+5qf:hi,34:72 cf qp s1 s8 u8 704 8tf 8un 1efk 2kh5 2kil 2kk1 2klh 2kmx 2kod 2kpt 2kr9 2ksp' +
  ' 2ku5 2kvl 2kx1 2kyh 2l02 2l0g 2l1o 2l22 2l3a 2l3o 2l4w 2l5a 2l6i 2l6w,34+1a+36+32+1a:a8o,34+1t:a68,34+1y:a6i,' +
  '34+2e:a7o,34+2f:a7u,34+2r:a5y,34+37:a7k,34+53:41j,34+lw:bp,34+mt:5tp,35:10b 12b 12e 1efl 2kh6 2kim 2kk2 2kli 2' +
  'kmy 2koe 2kpu 2kra 2ksq 2ku6 2kvm 2kx2 2kyi,35+lw:io,35+me:2mno,36:tv 5ra 8sl xtz-1 xvl 1efm 1zix 2kh7 2kin 2k' +
  'k3 2klj 2kmz 2kof 2kpv 2krb 2ksr 2ku7 2kvn 2kx3 2kyj,36+13:wh,36+2p+2s:a7h,36+2p+2s+1b+37:a7i,36+32:31 128 6m7' +
  ' 1efh 1j40 1jhf 2kh2 2kii 2kjy 2kle 2kmu 2koa 2kpq 2kr6 2ksm 2ku2 2kvi 2kwy 2kye,36+32+1b+37:a7b,36+32+1t:a6b,' +
  '36+32+2e:a7r,36+32+2f:a7x,36+32+2q:a8k,36+32+2v:a6m,36+32+2x+30:a8l,36+32+30:a6u,36+32+33+30:a8m,36+32+36+32:a' +
  '70,36+32+37:a7n,36+32+mb:xu9,36+32+me:hd,36+32+me+mt:2moc,36+32+ms:5tb,36+32+mt:2mob,36+32+mw:6g5,36+mg:hp,36+' +
  'mg+me:2mnr,36+mh:ho,36+ms:5te,36+mt:gd wj,37:cd ut 2lb x0x xwq 1efn 1few 1jgh 2kh8 2kio 2kk4 2klk 2kn0 2kog 2k' +
  'pw 2krc 2kss 2ku8 2kvo 2kx4 2kyk,37+36:a8r,37+37+37:2rfg,37+38:1dl2,37+mg:hu,37+ms:5tg,38:1efo 2kh9 2kip 2kk5 ' +
  '2kll 2kn1 2koh 2kpx 2krd 2kst 2ku9 2kvp 2kx5 2kyl,38+27+mt:2mn8,38+2u:x2v,38+2w:2mp0,38+37:iu,38+f1:x0p,38+gl:' +
  'iw,38+h8:2mn6,38+hv:iv,38+hy:2mng,38+lw:bx,38+me:bv 3wf,38+ms:5th,38+mt:9z,38+5u2:2mns,38+x3i:2mn7,39:i3 qt 13' +
  '1 5r0 x3z xu6 xua 1efp 1fjq 1jh4 2kha 2kiq 2kk6 2klm 2kn2 2koi 2kpy 2kre 2ksu 2kua 2kvq 2kx6 2kym 2l06 2l1s 2l' +
  '3e 2l50 2l6m,39+2t:5t7,39+33:xur,39+me:2mnt,39+mh:v3,39+mt:5tq xwc,3a:ql vp 15k 5r4 6lw 6qw 6v5 xwp 1efq 1j46 ' +
  '1jgg 2khb 2kir 2kk7 2kln 2kn3 2koj 2kpz 2krf 2ksv 2kub 2kvr 2kx7 2kyn 2kzy 2l1k 2l36 2l4s 2l6e,3a+2x:6lx,3a+2x' +
  '+2x:6ly,3a+2x+2x+2x:6lz,3a+mt:2moi,3b:hb ug v5 10d 129 5r5 89u 8u5 x6i xvn xwk 1efr 1j4a 1j4e-1 2khc 2kis 2kk8' +
  ' 2klo 2kn4 2kok 2kq0 2krg 2ksw 2kuc 2kvs 2kx8 2kyo 2mpp,3b+2w:2mp1,3b+lj:1io5,3b+me:x29,3b+mt:2mnz,3b+w6+w7:vx' +
  ',3c:5z ud 475 48t 4fi 4mb 5ik 6m1 84r-1 8bz 1efs 1h36 2khd 2kit 2kk9 2klp 2kn5 2kol 2kq1 2krh 2ksx 2kud 2kvt 2' +
  'kx9 2kyp,3c+2x:6m2,3c+2x+2x:6m3,3c+lj:8c0,3d:gz i7 qb ub xb 3c7 5u4 64f 6kd 8tl xui 1eft 1jgk 1jh8 2khe 2kiu 2' +
  'kka 2klq 2kn6 2kom 2kq2 2kri 2ksy 2kue 2kvu 2kxa 2kyq 2kzo 2l1a 2l2w 2l4i 2l64,3d+lw:c4,3d+me:2mnl,3d+mt:gf xd' +
  ' 2mol,3e:5r6 8rw 8st 8x9 xw3 1efu 2khf 2kiv 2kkb 2klr 2kn7 2kon 2kq3 2krj 2ksz 2kuf 2kvv 2kxb 2kyr,3e+me:f9,3e' +
  '+mg:i8,3e+ms:5ti,3e+mt:c6,3f:7sk 1e8r 1efv 2jv8,3h:7sl 1e8s 1efx,3i:kc 69s 6dv 6rg 9i4 1efy,3i+lj:8dm 93y,3i+l' +
  'k:6zs,3i+mb:93z,4j:6g4 1ejl,4p:794 2q7f,4s:1ejm,4u:79j 2q7g,4w:56 ka 1v4 1z1 25s 3z8 4wu 5si 6eo 6qg 7gr 7hi 7' +
  'n0 94g x86 1ejy 1hvf 1i65 1ikv 1io6 1iyr 1jcr 2mv0 2nzz,4w+1b+6f4:11 19m 6du 1e96 1edh,4w+1b+6f4+6f4:16x 6cw,4' +
  'w+1b+6f4+6f4+6f4:16y 6cx,4w+1v:6ir,4w+1y:6ix,4w+lk:6zo,4w+mq:6zg 1hhs,52:94v,53:k1 1m8 22e 3zb 4iz 6ci 6cn 6qh' +
  ' 6v9 94h 9ob x3j 1eg5 1erl 1gdb 1i0k 1i2v 1iv8 1j21 1lya,53+1g:46n,53+1o:404,53+1q:3zr 400 6vr,53+22:42g,53+24' +
  ':43a,53+28:41i,53+2d:40n,53+2e:3zu,53+2q:41q,53+2q+lj:41s,53+2s:41m,53+53+53:6wf 8y0,53+g5:3zw,53+pf:432,53+pg' +
  ':3ym,53+11k:40p,53+3y9:3yk,53+3yc:3yo,53+3yd:3yq,53+3ye:3ys,53+3yi:3yv,53+3yj:3yx,53+3zm:3zy,53+3zo:402,53+3zt' +
  ':406,53+40f:40r,53+40g:40k 40t,53+40h:40v,53+40l:40x,53+40m:40z,53+417:41g,53+41a:41k,53+41c:41o,53+421:42a,53' +
  '+423:42c,53+424:42e,53+426:42i,53+428:42k,53+429:42m,53+42r:430,53+42u:434,53+42v:436,53+42w:438,53+42z:43c,53' +
  '+43k:43t,53+43m:4w6,53+43n:4w8,53+43o:4wa,53+43p:4wc,53+43r:43v,53+43s:43x,53+443:44c,53+445:44e,53+446:44g,53' +
  '+447:44i,53+448:44k,53+44a:44m,53+44b:44o,53+44t:452,53+44v:454,53+44w:456,53+44x:458,53+44y:45a,53+450:45c,53' +
  '+451:45e,53+45s:45z,53+45t:461,53+45u:463,53+45v:465,53+45w:467,53+45x:469,53+45y:46b,53+46g:46p,53+46h:46r,53' +
  '+46i:46t,53+46j:46v,53+46l:46x,53+46m:46z,53+477:4we,53+47a:4wf,53+47b:4wg,53+47c:4wh,53+47d:4wi,53+47f:4wj,53' +
  '+47g:47i,53+47u:47v,53+487:488,53+4vl:4vn,53+4vo:4vq,53+4vs:4vt,53+4w0:4w2,66:s7 4h2 1fic 1zh2,67:qa r4 3xs 61' +
  'q x4l x5i-1 2kyu 2kzn 2l19 2l2v 2l4h 2l63 2mqd,67+me:2mnv,6v:3tx 7tj,8o:qi s0 u2 5qj 8t1 xx2 2kzv 2l0e 2l1h 2l' +
  '20 2l33 2l3m 2l4p 2l58 2l6b 2l6u,8o+mh:wr,8o+mt:wv,at:uk xwf 20gh,at+2x:uj,au:sd 6mb wkb 1fdv,b2:6pv 8xm wkx 2' +
  'k2w,b3:yg,b4:100 3wr 6iv wsz x0q 1fcx 20j1 2k2p,bs:rt 5r8 wud,bt:pv 6kg 6q9 8y1 2kze 2l10 2l2m 2l48 2l5u,c1:4d' +
  'q 4dw 6jr,ci:7e2,d9:gp yh,d9+33:5qs,d9+33+mt:xtu,d9+33+mw:xtt,d9+ke:gq,dy:zu,f1:ia yp 3cj 8ud 8ul x2j,g2:xvi,g' +
  '5:pn t7 19k 1dk 3zl 8xj wkl wy6 x5m 1f2l 1fhs 1fkg 20jh 2kz6 2l0s 2l2e 2l40 2l5m,g5+53:3zx,g5+me:xx,g5+mw:x5o,' +
  'gb:5u8,gk:or 5qo 6mc 1fez,gk+2t:xuq,gk+mt:2mo2,gk+mw:xtr,gs:tz 5qg,gs+me:wp,gu:1feq,gy:zx 3y3 xw0,gy+me:2mnk,h' +
  '1+mt:2mny,hc:12y 3kz,hg:8t7,hj:1fen,hj+mt:2moj,hk:ft qu r9 uc 8tn 8v4-1 2l07 2l0f 2l1t 2l21 2l3f 2l3n 2l51 2l5' +
  '9 2l6n 2l6v,hk+me:2mnn,hq+ms:5tf,hr:6jt,hs:xv5 xwi,hs+me:2mnp,ht+me:2mnq,hv:6qz xu5,hv+2w:2moy,hv+hv:6r0,hv+hv' +
  '+hv:6r1,hv+hv+hv+hv:8b0,i0+2w:2moz,i2+mt:5tr,i4:5rb 8t3 1fiw,i5:u4 5ql 8t5 xvr,i5+me:y6,ib:8t9,if+2w:2mor,ig:6' +
  'u1 7ih 8ao 8yh wvc 1fib,ih:tu 3y4 8sj,ii:x3x 1fe2,ik:u5 8sv xvv,ik+me:y0 y2,ik+mh:wz,in:8up xwu 1fer,ip:wy5,jl' +
  ':kk,jr:k8 wvy,jt:4v 3zc 6da 7f8 1e89-3 1ejn,jt+2q:ui,jt+2q+2x:wup,jz:ol,kb:oq,kq:l7 x06,kr:x04,kz:9he 1eg1,lc:' +
  '1ub,ld:13w-1 17c 18u 1fr 1ie 1uc,ld+ld:ln 18r 1if 1rk,le:lt 197 1ke 38z 5ow wz4,lf:n6 18z 1ln,lg:lh 195 1kb 4l' +
  'u 5b6 5oy wz5 xoc 1gl4 2n1w 2ona,lg+lg:5bc,li:lo oe 194 196 1tx 5pw wvw 1jza 2n1u 2onc,li+lj:ls 1d4 1s1 1vl 22' +
  'p 269 2dc 2gx 2kh 1ibl 1inz,li+lj+ld:1hir,li+lj+lv:1hit,lj:ns 14p-1 14x-1 150 1d8 1fk-1 1kd 1re 1s2 1z6 22q 28' +
  'j 2bx 3tq 1hl4 1hq9 1htt 1hxd 1i0x 1ian 1iv1 1iyl 1j1n 1jcn 2ne4,lk:1kj 1rf 28k 3tr 5ke 1gjz 1gpx 1hl5 1hxe 2n' +
  'e5,lm:o6 14f 18y 1cv 1io 1m4 29u 2dg 2kg 2tp 2x9 326 37a 4p2 4pf 584 5fk 5q0 92i 9ik 9lm 9lo x6z 1ehr 1hhq 1ib' +
  'k 1ikk 1io0 1jqw 1jti 1k59 1k8l 1ket 1khc 2n1v,lm+2sy:2sz,lm+2wi:2wj,lq:5p6,lu:193,lv:lx 17d 18v 1rn,lw:199,ly' +
  ':5pp,mb:14k 151 198 1fg 1fm 1ki 1nf 1rh 1to 1x8 20s 24c 27w 2t6 2wq 5kn 5p9 1gl6 1hl2 1hve 1i0j 1i2y 1iax 1id7' +
  ' 1ikm 1io3 1iv4 1j1z 1jcq,mc:1ri 5pa 1id8,md:307 37b 58f 9il,me:m9 mf mx,mg:ma n9 59z,mh:192 5p8,mj:5p1,ml:5p5' +
  ',mp:m8 1ne 1ua,mr:nb,mt:mu,mw:mv,nk:ll nr 1ii 1rs 1rz,nk+nk:1ij,nm:1s0,no:1rt,np:1ru,o3:92u,o4:92v,o8:92l,of:9' +
  '2n,pf:sz 3w1 42t 6ke 8sk x5u 1fkf 20hz 2kyy 2l0k 2l26 2l3s 2l5e,pf+13:wg,pf+53:433,pf+mt:wi,pg:1k1 3yb 6py 7g3' +
  ' 8sm 8yo wno 1f2d 1f37 1sbm 1zjg 20ii 2kyz 2l0l 2l27 2l3t 2l5f 2rcy,pg+53:3yn,pg+mq:6zd,pg+3z4:3zg,pq:7jk 8ty ' +
  '2kz9 2l0v 2l2h 2l43 2l5p,ps:tb 6kf 6q7 8tc wyj 1fkn 20fa 2kzb 2l0x 2l2j 2l45 2l5r,py:tg 11v 3ls 4j4 8tm 1f3n 2' +
  'kzh 2l13 2l2p 2l4b 2l5x,q0:vk 4ig 8tq 1f3p 1fip 2kzj 2l15 2l2r 2l4d 2l5z,q1:4dr 4dx 1f3q 2kzk 2l16 2l2s 2l4e 2' +
  'l60,qe:2kzr 2l1d 2l2z 2l4l 2l67,qj:8t2 x5n 1fiz 2kzw 2l1i 2l34 2l4q 2l6c,qj+mw:bf,qk:51 2kzx 2l1j 2l35 2l4r 2l' +
  '6d,qk+1t:a6a,qk+1y:a6k,qk+2e:a7q,qk+2f:a7w,qk+2v:a6l,qk+30:a6t,qk+36+32:a6z,qk+37:a7m,qm:2kzz 2l1l 2l37 2l4t 2' +
  'l6f,qo:ra u7 5rc 6kc 8td 20g1 2l01 2l0h 2l1n 2l23 2l39 2l3p 2l4v 2l5b 2l6h 2l6x,qq:rf 8sr 2l03 2l1p 2l3b 2l4x ' +
  '2l6j,qv:8tp xub xud 2l08 2l1u 2l3g 2l52 2l6o,qv+me:2mnx,qv+mt:2mok,qw:vl 6zq 8tr 1fjt 2l09 2l1v 2l3h 2l53 2l6p' +
  ',qx:705 8tt wul x4n 2l0a 2l1w 2l3i 2l54 2l6q,qx+mq:709,rb:8v8,rc:1f3h 1f6a,rh:2l6z,sc:8u9,sr:1fil,t2:2k2h,t2+m' +
  'h:wm,t4:om wwx 1fdx 1fkd 2k23,t4+me+li:wa,tj:ro,tk:8u4,tm+30:wuo,tp:6iw,tr:492,tr+53:4x4,ty+mh:wn,u3:5rf,u3+me' +
  ':xy,uf:rp 23u 25n 4z9,ux:xuo,v4:3wn 4bz 2k2q,v4+53:4x9,v4+w6+w7:vw,xi:y3,xj:y4,xo+mg:xq,xv:1fi4,zi:2k1u,11k:3m' +
  'o 40e 6qx 6v6 wl1 1zo1 2k3p,11k+13:414,11k+53:40q,11w:6gt 8u8 8vc 1ew0,121:jj k3,12d+2x:13b,12p:3o4,12s+12d:1d' +
  'lg,12s+12j:1dlh,12s+12l:1dlj,12s+12u:1dlf,132+12u:1dli,13q:14d,13s:14e,13t:148,13u:144,154:14g,155:14s,15c:6k5' +
  ' 1dlt,15c+15o:1dn3,15d:6k6,15e:6k7,15f:6k8 1dlu,15g:1dlv,15n:1dlw,15o:1dlx,15p:1dly,15u:1dls,160:1dlz,162:1dm0' +
  ',170:19o 94i,17f:94l,17j:94e,17l:1e9s 2pf3,17l+1hiy:1dp,17s:1ea7-3 2pkx 2plt 2poh 2ppd,17s+30:2pnl,17s+33:1dwg' +
  ' 1dya,17s+17w:1ds5 1dwc,17s+17x:1ds6 1dwd,17s+17x+18p:1e4i,17s+17y:1ds7 1du3 1dwe 1dxu,17s+17y+18p:1e3i,17s+18' +
  '1:1duy,17s+182:1duz,17s+18l:1ds8 1dv0 1dwf 1dy9,17s+18m:1dv1,17s+18p:1ds9-1 1dv2-1,17s+190:1pd,17s+1cr:1g1,17s' +
  '+1cy:1py,17u:1a2 1dni-3 1ead-3 2plh 2pmd 2pp1 2ppx,17u+30:2po5,17u+33:1dwl 1dyc,17u+li:1q7,17u+17w:1dsb 1dwh,1' +
  '7u+17w+18l:1e1c,17u+17w+18p:1e3j-1,17u+17x:1dsc 1dwi,17u+17x+17w:1e1d-1,17u+17x+18l:1e1f,17u+17y:1dsd 1dwj,17u' +
  '+17y+18l:1e1g,17u+17y+18p:1e3l-1,17u+181:1dv4,17u+182:1dv5,17u+18l:1dse 1dv6 1dwk 1dyb,17u+18l+17w:1e1h,17u+18' +
  'l+17x:1e1i,17u+18l+17y:1e1j,17u+18l+18p:1e3n-1,17u+18m:1dv7,17u+18p:1dsf-1 1dv8-1,17w:1eal-3 2pky 2plu 2pmq 2p' +
  'oi 2ppe,17w+30:2pnm,17w+17x:1dsl 1dwn,17w+17x+18p:1e3q 1e4e,17w+18k+w+17w+18k+30+18k+33:1e63,17w+18l:1dsm 1dwo' +
  ',17w+18l+17x:1e1k-1,17w+18l+18p:1e3p 1e3r,17w+18p:1dz5-1 1dzx-1,17x:1eap-3 2pl3 2plz 2pmv 2pon 2ppj,17x+30:2pf' +
  '6 2pnr,17x+33:2p9x,17x+17w:1dsn 1dwp,17x+17w+18p:1e4f,17x+17z:2prl,17x+18l:1dso 1dwq,17x+18l+30:2paf,17x+18l+1' +
  '8p:1e1m-1,17x+18p:1dz3-1 1dzv-1,17x+190:1a9 1gy,17x+1cr:1ad,17y:1eat-3 2plj 2pmf 2pnb 2pp3 2ppz,17y+30:2po7,17' +
  'y+17w:1dsp 1dwr,17y+17x:1dsq,17y+18l:1dsr 1dws,17y+18p:1dz7-1 1dzz-1,17z:1eax-1 1f4x 2pkz 2poj 2ppf,17z+le:1da' +
  ',17z+mc+mb:1pq,17z+179:1ag 1doo-1,17z+1cr:1am-1 1dom-1,180:1eaz-1 2plk 2pp4 2pq0,180+2tk:1duj,181:1nr 1eb1-1 2' +
  'plf 2poz 2ppv,181+le:1db,181+li:1aq,181+li+lj:1q1,181+179:1ap 1dos-1,181+183+18o+18k:1e5y,181+18p+30+18k:6gx 1' +
  'e64,181+190:1gs,181+1cr:1aw 1doq-1,181+2tk:1duk,182:1eb3-1 2pl2 2pom 2ppi,182+le:1pu,183:1eb5-3 2pla 2pm6 2pn2' +
  ' 2pou 2ppq,183+30:2pny,183+33:1dyg 1e0h,183+le:1ha,183+17w:1dss 1dwt 1e0k,183+17w+17x:1e1p,183+17w+18p:1e1q,18' +
  '3+17x:1dst 1dwu 1e0l,183+17x+17w:1e1o,183+17y:1dsu 1dwv 1e0m,183+17y+18p:1e3s 1e4m,183+181:1dzi 1e0a,183+18l:1' +
  'dsv 1dww 1dyf,183+18l+17w:1e1t,183+18l+17x:1e1r-1,183+18l+18l:1e1u-1,183+18p:1dyz-1 1dzr-1,183+1cr:184 1eb9-3 ' +
  '2plg 2pmc 2pn8 2pp0 2ppw,183+1cr+30:2po4,183+1cr+33:1dyi 1e0i,183+1cr+17w:1dzd 1e05 1e0d 1e0n,183+1cr+17w+18p:' +
  '1e21,183+1cr+17x:1dze 1e06 1e0e 1e0o,183+1cr+17x+18l:1e1z-1,183+1cr+17x+18p:1e3u,183+1cr+17y:1dzf 1e07 1e0f 1e' +
  '0p,183+1cr+181:1dzh 1e09,183+1cr+18l:1dyh 1dzg 1e08 1e0g,183+1cr+18l+17y:1e22-1,183+1cr+18l+18l:1e24-1,183+1cr' +
  '+18p:1dz1-1 1dzt-1,185:1ebd-3 1f5e 2pld 2pm9 2pn5 2pox 2ppt,185+30:2po1,185+mc+mb:1pr,185+17x:1dsw 1dwx,185+17' +
  'x+17x:1e1w-1,185+17x+18p:1e3t,185+17y:1dwy,185+181:1dzj 1e0b,185+18k+189+18l:1e5x,185+18k+18p:1e5s 1e61,185+18' +
  'k+18p+w+30+18k+18k+33+w+189+18k+18p+33+w+18o+183+18k+18l:1e62,185+18l:1dsx 1dwz,185+18l+18l:1e1y 1e4l,185+18p:' +
  '1dz9-1 1e01-1,185+1cr:1b2,186:1ebh-3 2pll 2pmh 2pnd 2pp5 2pq1,186+30:2po9,186+17w:1dsy 1dx0,186+17x:1dsz 1dx1,' +
  '186+17x+18p:1e26 1e3v,186+17y:1dt0 1dx2,186+17y+18l:1e27-1,186+181:1dzk 1e0c,186+18l:1dt1 1dx3,186+18p:1dzb-1 ' +
  '1e03-1,187:1ebl-3 1f54 2pl4 2poo 2ppk,187+30:2pns,187+17x:1dt2 1dx4,187+18l:1dt3 1e0j 1e0q,187+18l+17x:1e29-1,' +
  '187+18l+18l:1e2b,187+18l+18p:1e2c,187+18p:1dyt-1 1dzl-1,187+1cr:1b3,188:1ebp-3 2plm 2pp6 2pq2,188+30:2poa,188+' +
  '18l:1dt4 1dx5 1e0r,189:173 1nc 1ebt-3 2plb 2pm7 2pn3 2pov 2ppr,189+30:2pbm 2pfb 2pnz,189+33:2pbl,189+17w:1dt5 ' +
  '1dx6,189+17w+18l:1e2d 1e4k,189+18k+18p+33:1e5z,189+18l:1dt6 1dx7,189+18l+18l:1e2e-1,189+18l+18p:1e2g 1e46,189+' +
  '18p:1dyv-1 1dzn-1,18a:1ebx-3 2pln 2pmj 2pnf 2pp7 2pq3,18a+30:2pob,18a+17w:1dt7 1dx8,18a+18l:1dt8 1dx9,18a+18l+' +
  '18l:1e2h,18a+18l+18p:1e2i-1,18a+18p:1dyx-1 1dzp-1,18h:1bb 1ec1-3 1h55 2plc 2pm8 2pow 2pps,18h+30:2po0,18h+17w:' +
  '1dt9 1dxa,18h+17x:1dta 1dxb,18h+17y:1dtb 1dxc,18h+17y+18l:1e2k-1,18h+18l:1dtc 1dxd,18h+18l+18p:1e4h,18h+18p:1d' +
  'td-1 1dvg-1,18i:1ec5-3 2ple 2pma 2pn6 2poy 2ppu,18i+30:2po2,18i+17x:1dtf 1dxe,18i+18k+18p:1e5t,18i+18l:1dtg 1d' +
  'xf,18i+18l+17x:1e2m 1e44,18i+18l+18l:1e2n,18i+18l+18p:1e42,18i+18p:1dth-1 1dvi-1,18j:1bd-1 1n3 1dou-3 1ec9-3 1' +
  'h54 2pl6 2pm2,18j+30:1dtj 1dvk 2pnu,18j+li:1qa,18j+17w:1dtk 1dxg,18j+17x:1dtl 1dxh,18j+17y:1dtm 1dxi,18j+181+1' +
  '8o+181:2pb5,18j+181+18o+181+30+18p:2pb6,18j+18k:1dtn 1dvl 1dxj 1dyj,18j+18l:1dto 1dvm 1dxk 1dyk,18j+18l+18l:1e' +
  '4b 1e4j,18j+18l+18p:1e47,18j+18p:1dtp-1 1dvn-1,18j+1cr:1bh 1gj 1dqr-3,18k:1ecd-3 1h5f 2pl7 2pm3 2pmz 2por 2ppn' +
  ',18k+30:1ed7-1,18k+30+lf:1ed1-1,18k+30+190:1ed3-1,18k+30+191:1ed5-1,18k+33:1dxp 2pb7,18k+li:1bp,18k+17w:1dtr 1' +
  'dxl,18k+17w+17w:1e2r-1,18k+17w+18l:1e4a 1e4c,18k+17w+18p:1e3w,18k+17x:1dts 1dxm,18k+17x+18l:1e2o 1e45,18k+17x+' +
  '18p:1e2p-1,18k+17y:1dtt 1dxn,18k+17y+18l:1e2t-1,18k+18j:2pb4,18k+18j+33+30+18m:2pb3,18k+18j+33+33:2pb2,18k+18l' +
  ':1dtu 1dvp 1dxo 1dyl,18k+18l+30:2pah,18k+18l+17x:1e2v-1,18k+18l+18p:1e3x,18k+18p:1dtv-1 1dvq-1,18k+18p+189+30:' +
  '2pf5,18k+1cr:1br,18l:1ech-3 2pl8 2pm4 2pos 2ppo,18l+30:1dvs 2pab 2peb 2pnw,18l+17w:1dtx 1dxq,18l+17w+17x:1e30,' +
  '18l+17w+17y:1e36,18l+17w+18l:1e31,18l+17w+18p:1e4g,18l+17x:1dty 1dxr,18l+17x+17w:1e2x,18l+17x+18l:1e2y,18l+17x' +
  '+18l+17z:1e5w,18l+17x+18p:1e2z,18l+17y:1dtz 1dxs,18l+17y+17w:1e32,18l+17y+18l:1e33,18l+17y+18p:1e49,18l+181:2p' +
  'f2,18l+18l:1du0 1dvt 1dxt,18l+18l+18p:1e41,18l+18p:1du1-1,18l+1cr:1pj,18l+1hiy:1dq,18m:1ecl-3 1hhi 2pl9 2pm5 2' +
  'pn1 2pot 2ppp,18m+30:2pnx,18m+33:1dxy 1dyn,18m+li:1gp,18m+179:1go,18m+17w+17x:1e48 1e4d,18m+17w+18l:1e3b-1,18m' +
  '+17w+18p:1e3d 1e4n,18m+17x:1du4 1dxv,18m+17x+18l:1e39,18m+17x+18p:1e3a 1e43,18m+17y:1du5 1dxw,18m+181:1dvu,18m' +
  '+182:1dvv,18m+18l:1du6 1dvw 1dxx 1dym,18m+18l+18p:1e3e-1,18m+18m:1dvx,18m+18p:1du7-1 1dvy-1,18o:1pt 1ect-1 1f5' +
  '0 2pl1 2pph,18o+le:1c9 1dr6-1,18o+li:1c6 1dqx-1,18o+lv:1c7 1dqv-1,18o+lv+19w:19z 1dr1,18o+183+18k+18l:1e60,18o' +
  '+19w:19y 1e9x-1,18o+1cr:1cb 1dr2-1,18o+2tk:1c8 1dqz-1,18p:18q 19q 1bu 1cc 1ci 1q5 1dpa-1 1dpq-1 1drc-1 1drw-3 ' +
  '1ecv-5 2pl5 2plo-1 2pm1 2pmx 2pnh 2pop 2ppl,18p+30:2pnt 2poc,18p+33:1dy6 1dyp,18p+le:18d,18p+li:1ce 1g6,18p+li' +
  '+lj:1q2,18p+lm:1ov,18p+179:1a1 1bv 1dnq-3 1dpc-3,18p+179+li:1q8,18p+17w:1dud 1dy2,18p+17w+18p:1e3z,18p+17x:1du' +
  'e 1dy3,18p+17x+18p:1e3y,18p+17y:1duf 1dy4,18p+181:1dw1,18p+182:1dw2,18p+189+30:2pfa,18p+18l:1dug 1dw3 1dy5 1dy' +
  'o,18p+18l+18l:1e3g-1,18p+18l+18p:1e40,18p+18m:1dw4,18p+18o:2pe1,18p+18p:1duh-1 1dw5-1,18p+190+30:1dre-1,18p+19' +
  '0+33:1drg-1 1dwb 1dy8,18p+190+17w:1ds0 1dw7,18p+190+17x:1ds1 1dw8,18p+190+17y:1dw9,18p+190+181:1dus,18p+190+18' +
  '2:1dut,18p+190+18l:1ds2 1duu 1dwa 1dy7,18p+190+18m:1duv,18p+190+18o:1dri-1,18p+190+18o+li:1drm-1,18p+190+18o+l' +
  'v:1drk-1,18p+190+18o+2tk:1dro-1,18p+190+18p:1drt-2 1ds3-1 1duw-1,18p+190+1a3:1drq-2,18p+19w:1a0 1pk 1dps-1 1ea' +
  '1-3,18p+1cr:17v 18f 1a6 1bx 1ch 1g2 1dna-3 1eah-3 2pli 2pme 2pp2 2ppy,18p+1cr+30:2po6,18p+1cr+33:1dye,18p+1cr+' +
  'li:1q6,18p+1cr+17w:1dsh,18p+1cr+181:1dva,18p+1cr+182:1dvb,18p+1cr+18l:1dsi 1dvc 1dwm 1dyd,18p+1cr+18m:1dvd,18p' +
  '+1cr+18p:1dsj-1 1dve-1,18p+1cr+1cy:1pz,18p+2tk:1dul 1dw0,18s:1r9 1rc 1rl,18t:1rm,18w:lz 17e 1ig 2jvr,18w+18w:1' +
  'ih,18w+1hiz:1his,191:19b,19e:1de xjj 2jg4,19f:1df 2ojt,19g:1dg,19i:1di,19l:1dl 1uv 1jhg 2pfg,19t:1dn4-1,1a3:1c' +
  'g 1dn6-3 1dr8-3,1a7:1dnm-3,1a8:1dne-3 1hhj,1ab:1do6-3,1ac:1do2-3,1ae:1doa-3,1ae+li:1q9,1af:1doe-3,1ai+179:1aj,' +
  '1ak:1dok-1,1al:1doi-1,1av+179:1gx,1b5:19r 1q3-1 2plq-1 2pnj,1b5+30:2poe,1b5+1cr:1b8 1bc 1dnu-3 1h5o,1b6+1cr:1p' +
  'g,1ba:1dny-3,1bg:1gi,1bj:1ps 1doy-3,1bj+1cr:1bo,1bl:1dp6-3,1bn:1dp2-3,1c5:1c4 1dr4-1 2pol,1cr:59w 6hn,1g4:1gn ' +
  '1pl,1ik:5xa,1ik+nk:1im,1ik+1ik:1il,1s5+li:1v6,1s5+1tm:1v7,1s5+1ty:1s4,1s5+1u7:1v9,1s5+1jo1:1s6,1s5+1jo1+li:1sh' +
  ',1s5+1jo1+1tm:1v8,1s5+1jo1+1ty:1si,1s5+1jo1+1u0:1sk,1s5+1jo1+1jz8:1sj,1s9:204,1sf+li:1sd,1sf+1ty:1se,1sf+1jz8:' +
  '1sg,1sn+mp:1vf,1ss+mp:1vg,1sv:1zz,1sw:200,1sx+mp:1vi,1sy:20b,1t0+1u5+1t0:1zw,1t2+mp:1jwq,1t6:207 1jnm,1t6+1u5+' +
  '1sv:22a,1t6+1u5+1sv+1xb:1zb,1t6+1u5+1sv+20w:1zc,1t6+1u5+1sv+1jz8:1zj,1t8+mp:1vj,1t9:20e,1ta:20o,1tc+1u5+1s7:1s' +
  '8,1th:1zp 1jnu,1tl:20l,1tm:1i2z 1jz4,1tp:24d,1tt:24h,1tu:24i,1ty:217,1u0:214 1job,1u5:219 24t 1jcp,1uw:240 25k' +
  ',1uw+li+lj:xdh,1uy:25m,1v2:25q,1v5:k9 2mm 4wv,1v5+3z2:4ws,1vn:1z7 2df 2gz 2kj 2o3 327 37c 4p3 876 1ibn 1io1 1j' +
  'of 1jqx 1k5a,1vp+1xa:1vq,1vv+1xf:1y8-1,1vz:1imj,1w0:1imk,1w3:1iml,1w4:1imm,1w5:1imn,1w6:1imo,1w7:1imp,1w8:1imq' +
  ',1wa:1ims,1wc:1imu,1we:1imw,1wf:1imx,1wh:1imz,1wj:1ine,1wk:1in2,1wl:1in3,1wm:1in4,1wn:1in5,1wo:1in6,1wq:1in7,1' +
  'ws:1ind,1wu:1inb,1wv:1inc,1ww:1yo 1inf 1khd,1wy:1in1,1x3:1inh,1x4:1ini,1x9:1io4,1xa:1ink,1xb:1tr 20v 1inl,1xj:' +
  '1int,1xp:1io2,1xz:1inx,1yf:1ioh,1yg:1ioi,1yk:1iom,1z9+1u0:1zk,1z9+20u:1za,1z9+218:1zo,22b+1jz6:1zd,22b+1jz6+1j' +
  'z6:1ze,22t+24e:22u,22t+24e+24l:235,22t+24e+24n:237,22t+24e+24o:238,22t+24l:231,22t+24n:233,22t+24o:234,26d+27y' +
  ':26e,287:375,29x:2cu,2a0:2b4 2bi 1ida,2a0+2bl:2cr,2a1:2co 2kp 1ibt,2a1+2b7:2a2 1ibu,2a1+2mv:2kq,2a6:2ct,2a6+2b' +
  '9:2d3,2a8:1nl 2ak 2l8 1icc,2ad:2cn,2ai:2cq,2ai+2bl:2cs,2ai+2bm:2cy,2an+2bj:2m2,2ar:2lf 1icj,2ar+2ml:2nu,2as:1i' +
  'ck,2aw:1ico,2aw+2bk:2d6,2ax:2bs,2b2:2lh,2b2+2bk:2d0,2b3:2cw 1icv,2b7:2c7,2b8:2lw,2b9:2l2 1id1,2ba:2bc 2ly 1id2' +
  ',2bb:2d4,2bd:1id5,2bj:2m7-1 1idb,2bk:1idc,2bl:1idd,2bm:1ide,2bq:2me 1idj,2bq+2bq:2mg,2bq+2ku:2kw,2br:2mf,2cz:2' +
  'd1,2dh:2h1,2di:2h2,2dj:2h3,2dn+2f2:2g0,2do+2f2:2g1,2ds:2hc,2du:2he,2du+2fg:2dw 2hg,2du+2fp:2dv 2hf,2dz:2hj,2e4' +
  ':2ho,2e5:2hp,2e6:2hq,2e7:2hr,2e9+mb:2ea,2eb:2hv,2ee:2hy,2ef+155:2ed,2eg:2i0,2ek+mb:2el,2en:2i7,2eo:2i8,2eo+155' +
  ':2e8,2ep:2i9,2eq:2ia,2er:2ib,2et+mb:2ev,2et+2f2:2ex,2et+2f5:2em,2f3:2in,2f5:2ip,2f5+2f2:2f6,2f7:2ir,2f7+2f2:2f' +
  '8,2fw:2jg,2g7:2jr,2g8:2js,2gf:2jz,2h8+2im:2jl,2hi+mb:2dy,2kn+2mv:2ko,2ky+2m6:2kz,2ky+2mv:2l0,2la:2n5,2li+2ml+2' +
  'ls:2nf,2lk+2m9:2ks 2l5 2nt,2lk+2ml:2nj 2nv,2lk+2ml+2lk:2ng,2lk+2ml+2lq:2my,2ls:2lt 35u 3bs 55v 1hxl,2ls+2ml:2n' +
  'e 2nw,2ls+370:35s 55s,2ls+370+37d+2ls+370:36r,2ls+37i:39d,2lu+2ml:2nx,2lv+2ml:2ny,2lx+2ml+2ls:2ni,2m1+2ml+2lq:' +
  '2nq,2m9:2ma-1,2oh:2ph,2oh+2q2:2oi,2oh+2qh:2oj,2ok:2pl,2or:2pi,2ow:2ps,2oy:2qy,2pb:2qz,2pj:2pw,2pv+2qg:2od,2qg+' +
  '2qg:2r6,2qh+2qh:2qj,2qw+2q7:2qx,2qw+2qb:2r3,2rm:2rn,2ro:2s4-1,2rq:2sh,2rs:2vc,2ru:2rv,2ry:2rz,2s1:2s7,2sa:2vu,' +
  '2sb:2vv,2sd:2vx,2se:2vy,2sf:2vz,2sg:2sm,2si:2vh,2sv:4pg,2sy:2th,2t0:4on,2t1:4oo,2t2:4op,2t3:4oq,2t4:2wo,2t5:2w' +
  'p,2tc+2tc:2td,2tk:lp 19s 2x4 4p7,2tl:2x5,2tm:2x6,2tn:2x7,2tr:4pl,2u2:4ph,2u3:4pm,2w9:2sp,2wb+2vt:2xo,2wb+2w1:2' +
  'xp,2ww+2ww:2wx,2yz:2z0,2z1+2z1:2z2,2ze+2ze:2zf,2ze+2zh:2zj,2zh+2ze:34e,2zh+2zh:2zi,30l+309:315,30m+309:316,30n' +
  '+309:317,31c+31w+32a+1vn:2yq,31c+31w+32a+2z8:2yr,31e:31m,31k+324+lm:2yo,31t:33k,322+322:323,324+324:325,33m+31' +
  't+328:31z,33n+31t+328:321,35t+37f+37i:xoe,35v+37i:38w,35y+37f+37i:xof,369:1hxz,36d:56f 1hy3,36d+370:36n,36d+37' +
  '0+37i:38v,36d+37i:38m,36f:1hy5,36i:56n,36j+37i:38h,36k:1hyb,36m:56w,36m+37g:36x,36m+37g+287+370+37e:36y,36z:57' +
  'o,370:57n,371:1hyg,373:1hyi,378:57m 1hyf,37d:57k 1hyr,37d+36d:57h,37d+36k:57a,37d+36m:57i,37g:579,37j:578 1hxm' +
  ',37l:38l,37l+370:36g 56l 1hxf,38c+370:xnq,38d:521,391+370:36q,399+37i:39a,39f+lm:3a6,3cw:3hk 9pt 1eht,3cw+3cw:' +
  '3cx 3hl 9pu 1ehu,3cw+3cy:3ju,3cw+3cz:3fe,3cw+3d1:3ib,3cw+3d3:3jv,3cw+3d5:3hm 9pv 1ehv,3cw+3d5+3cw:3ic,3cw+3da:' +
  '3jw,3cw+3db:3jx,3cw+3de:3jy,3cy:3hn 9pw 1ehw,3cy+3cw:3df 3id,3cy+3cy:3dg 3jz 9r9,3cy+3cz:3dh 3ie 9ra,3cy+3d1:1' +
  '6mj,3cy+3d3:3di,3cy+3d5:3ff 3if 9rb,3cy+3d8:3fg 3ho 9px 1ehx,3cy+3da:16mk,3cy+3dc:3ih,3cy+3de:3fh 3hp 9py 1ehy' +
  ',3cy+3eo:3ig 9rc,3cy+3fy+ffs:9cp mkf,3cz:3hq 9pz 1ehz,3cz+3cw:3dj 3ii,3cz+3cz:3d0 9q0 16ml 1ei0,3cz+3cz+3d3:16' +
  'mm,3cz+3d1:3fi 3ij,3cz+3d2:xgg,3cz+3d3:xgh 16mn,3cz+3d5:xgi 16mo,3cz+3d5+3cw:16mp,3cz+3d8:xgj 16mq,3cz+3da:16m' +
  'r,3cz+3dc:16ms,3d1:3hr 9q1 1ei1,3d1+33:3dn 16n1,3d1+3cw:3hs 9q2 xgk 1ei2,3d1+3cw+3cw:xgl 16mt,3d1+3cw+3d5:3ik ' +
  '9rd,3d1+3cw+3de:16mu,3d1+3cy:3dk 3il,3d1+3cz:3im 9re xgm,3d1+3cz+3cz:xgn,3d1+3cz+3de:3in,3d1+3d1:3dl 3io,3d1+3' +
  'd1+3db:16mv,3d1+3d2:3ht 9q3 xgo 1ei3,3d1+3d2+3cw:3ip,3d1+3d2+3d5:3iq,3d1+3d2+3de:16mw,3d1+3d3:3hu 9q4 xgp 1ei4' +
  ',3d1+3d3+33:3it xgr,3d1+3d3+3cz:16mx,3d1+3d3+3d3:xgq,3d1+3d3+3d5:3ir 9rf,3d1+3d3+3dd:16my,3d1+3d3+3de:3is,3d1+' +
  '3d5:3hv 9q5 xgs 1ei5,3d1+3d5+3d5:3iu,3d1+3d8:xgt,3d1+3db:3iw xgu,3d1+3dc:3hw 9q6 1ei6,3d1+3dd:3hx 9q7 1ei7,3d1' +
  '+3de:3dm 3ej 3hy 9q8 16nm 1ei8,3d1+3eo:3iv 9rg,3d1+3f0:16mz,3d1+3fd:3ix 9rh,3d1+3fd+3de:16n0,3d2:3hz 9q9 1ei9,' +
  '3d2+33:3dp 3j6 9rl,3d2+3cw:3iy xgv,3d2+3cy:16n2,3d2+3cy+3cy:16n3,3d2+3cz:xgw,3d2+3d1:3iz,3d2+3d2:16n4,3d2+3d3:' +
  '3do 3j0 9ri,3d2+3d3+3d5:16n5,3d2+3d5:3j1 9rj xgx,3d2+3d5+3d5:3j2,3d2+3d8:16n6,3d2+3da:3j4,3d2+3de:3j5,3d2+3eo:' +
  '3j3 9rk,3d2+3fl:ggv,3d3:3i0 9qa 1eia,3d3+33:3e3 3ja 9rs,3d3+3cw:3dq 9rm,3d3+3cy:3dr,3d3+3cz:3ds 9rn 16n7,3d3+3' +
  'd1:3j7,3d3+3d1+3dd:16n8,3d3+3d2:16n9,3d3+3d3:3d4 9qb 16na 1eib,3d3+3d3+33:3e4 9rt,3d3+3d5:3dt 3i1 9qc 1eic,3d3' +
  '+3d5+3cw:3du 9ro,3d3+3d5+3cz:3dv 9rp 16nb,3d3+3d5+3d3:3dw,3d3+3d5+3d5:3dx,3d3+3d5+3d8:3dy,3d3+3d5+3dc:xgy,3d3+' +
  '3d8:3dz 9rq 16nc,3d3+3da:3e0 16nd,3d3+3db:xgz,3d3+3dc:3e1 9rr,3d3+3dd:3e2 3j8,3d3+3de:3j9 xh0,3d5:3i2 9qd 1eid' +
  ',3d5+33:3ed,3d5+3cw:3e5 3jb 9ru,3d5+3cy:3e6 9rv,3d5+3cz:3e7 3jc 9rw,3d5+3d1:3e8 3jd,3d5+3d2:3e9 16ne,3d5+3d3:3' +
  'ea 3je 9rx,3d5+3d3+33:16nf,3d5+3d3+3cw:3eb,3d5+3d5:3d6 3i3 9qe 1eie,3d5+3d5+3cw:16ng,3d5+3d5+3cz:16nh,3d5+3d5+' +
  '3d3:xh1,3d5+3d5+3d5:3ec,3d5+3d5+9oc:fff,3d5+3d8:3ee 9ry 16nj,3d5+3da:3ef 16nk,3d5+3db:3eg,3d5+3dc:3eh 16nl,3d5' +
  '+3dd:3ei,3d5+3eo:16ni,3d5+9oc+3cw:fka,3d5+9oc+3d2:glk,3d8:3i5 9qg 1eig,3d8+33:3f1,3d8+3d3:16nr,3d8+3d3+3d3:16n' +
  's,3d8+3d8:3d9 9qh 16nt 1eih,3d8+3d8+3de:xh4,3d8+3ft:ff9,3da:3i6 9qi 1eii,3da+3db:3f6,3da+3de:3f7,3db:3i7 9qj 1' +
  'eij,3dc:3i8 9qk 1eik,3dc+3dc:xh5,3dc+9oc+3cy+3d8:98x 9ev tiv,3dd:3i9 9ql 1eil,3dd+33:3fb 3jo 9s4,3dd+3d3:3fa 3' +
  'jn,3dd+3d5:16nu,3dd+3dc:16nv,3dd+3de:xh6,3de:3ia 9qm 1eim,3de+3cy:3jp,3de+3d1:3jq,3de+3d2:3jr,3de+3d3:3js,3de+' +
  '3d5:xh7,3de+3de:3fc 9s5,3ek+3ek:3el,3em+3em:3en,3eo:3jf 9rz,3eo+3d3:16nn,3eo+3d3+33:16no,3f0:3jk 9s1,3f0+3d2:1' +
  '6np,3f0+3de:16nq,3f2+3f2:3f3,3f4+3f4:3f5,3fd:3jt 9s6,3fd+3fd:xh8,3fk:9r8 1ehs,3fl:9qn 1eiq,3fl+3ft:3g6,3fl+3fy' +
  ':3g7,3fl+9oc:3hf,3fl+ffs:3fm 9qo 1eir,3fn:9qp 1eis,3fn+3ft:3g8,3fn+3fx:3g9,3fn+3fy:3hg,3fn+ffs:3fo 9qq 1eit,3f' +
  'p:9qr 1eiu,3fp+3ft:3ga,3fp+3fy:3gb,3fp+9oc:3gc,3fp+ffs:3fq 9qs 1eiv,3fr:9qt 1eiy,3fr+3fn:3hh,3fr+3ft:3gd,3fr+3' +
  'fy:3ge,3fr+ffs:3fs 9qu 1eiz,3ft:9qv 1ej0,3ft+3fl:3fu 9qw 1ej1,3ft+3fl+ffs:3fv 9qx 1ej2,3ft+3fn:3hi,3ft+3fn+ffs' +
  ':3hj,3ft+3fp:3gf,3ft+3fp+ffs:3gg,3ft+3fr:16ls,3ft+3fr+ffs:3gh,3ft+3ft:3gi,3ft+3ft+ffs:16lt,3ft+3fy:3gj,3ft+ffs' +
  ':3fw 9qy 1ej3,3fx:9qz 1ej6,3fx+3fl:16lu,3fx+3fl+ffs:16lv,3fx+3fn:3gk 3gm 9s7,3fx+3fn+ffs:3gl 9s8,3fx+3fp:16lw,' +
  '3fx+3ft:3gn,3fx+ffs:3go 9s9,3fy:9r0 1ej7,3fy+3fl:3gp,3fy+3fl+ffs:3gq,3fy+3fp:3fz 9r1 1ej8,3fy+3fp+9oc:3gr,3fy+' +
  '3fp+ffs:3g0 9r2 1ej9,3fy+3fr:16lx,3fy+3fr+ffs:3gs,3fy+3fy:3gt,3fy+ffs:3g1 9r3 1eja,3fy+ffs+ffs:16ly,3g2:9r4 1e' +
  'jb,3g2+3fl:3gu,3g2+3fl+ffs:16lz,3g2+3fp:3gv,3g2+3fp+ffs:3gw,3g2+3fr:3gx 9sa,3g2+3fr+ffs:3gy 9sb,3g2+3ft:16m0,3' +
  'g2+3fy:3gz,3g2+ffs:3h0 9sc,3ha:9sd,3ha+3fl:16md,3ha+3fp:3hb,3ha+3fp+ffs:16me,3ha+3fy:3hc,3ha+3ha:3he,3ha+ffs:3' +
  'hd 9se,3k6:11g,3mp:11o,3ou:117,3s3:11m,3y9+53:3yl,3y9+3z4:3zf,3yc+53:3yp,3yd+53:3yr,3yd+3z4:3zh,3ye+53:3yt,3yi' +
  '+53:3yw,3yi+3z4:3zi,3yj+53:3yy,3z2+1v5:4wt,3z5:441,3zm+53:3zz,3zo+53:403,3zp:6zt,3zt+53:407,40f+53:40s,40g:6tf' +
  ' 947,40g+13:415,40g+1b:7ux,40g+53:40u,40g+40l:8gn,40h+53:40w,40l:6te 946,40l+13:416,40l+53:40y,40m+53:410,417+' +
  '13:41x,417+53:41h,41a+53:41l,41c+53:41p,421:4cj,421+53:42b,423+53:42d,424+53:42f,426+53:42j,428:4ci,428+53:42l' +
  ',429+53:42n,42r+53:431,42u+53:435,42v+53:437,42w+53:439,42z+53:43d,43g:x6a 1g3h,43i:4y,43k+53:43u,43m+53:4w7,4' +
  '3n+53:4w9,43o+53:4wb,43p+53:4wd,43r+53:43w,43s+53:43y,443:4ck,443+53:44d,445+53:44f,446+53:44h,447+53:44j,448+' +
  '53:44l,44a:4cn,44a+53:44n,44b+53:44p,44t+53:453,44v+53:455,44w+53:457,44x+53:459,44y+53:45b,450+53:45d,451+53:' +
  '45f,45n+1o:45o,45n+2q:45q,45n+40l:45p,45n+428:45r,45s+53:460,45t+53:462,45u+53:464,45v+53:466,45w+53:468,45x+5' +
  '3:46a,45y+53:46c,46g+53:46q,46h+53:46s,46i+53:46u,46j+53:46w,46l+53:46y,46m+53:470,477:4de,477+53:4ww,47a:4df,' +
  '47e:4dg,47g+53:47j,47k+28:48v,47k+2q:48z,47k+2q+lj:490,47k+2s:48x,47k+417:4fj,47k+418:48u,47k+41a:48w,47k+41c:' +
  '48y,47k+41v:491,47u+53:47w,47y+53:4wz,486+53:4x0,487+53:489,48b+53:4x1,49h+22:49d,49h+421:4fk,49h+422:49a,49h+' +
  '423:49b,49h+424:49c,49h+426:49e,49h+428:49f,49h+429:49g,49i+22:4fn,49i+423:4fl,49i+424:4fm,49i+426:4fo,49i+428' +
  ':4fp,49i+429:4fq,49j+53:4x6,49z+53:4fr,4a0+53:4fs,4a1+53:4ft,4a2+53:4fu,4a3+53:4fv,4a4+53:4fw,4a5+53:4fx,4b6:8' +
  'ff,4b9:8fe,4bl:wl3,4c4+53:4xc,4ca:wkt 1gdd,4d7+53:4xe,4ee:5vf,4fz:kt 6f0,4hl:wxc,4ho:4ip,4hp:4hu 70f,4i1:1eup,' +
  '4i3:2k3j,4i7:6mp 1eju,4ii:6ny 8bl,4ik:6v8 7gn 7gq 7ky 1f2s 1jg7 2rf8,4ik+mq:6ze,4im:6vc 8bh,4iu:1fio,4iw:6mt,4' +
  'j3:8yr,4k5:4l0,4ne:4nj,4nl+4pe+4no:4o1,4nq+4pe+4nm:4og,4o2:4o3,4o2+4om:4o4,4ox+2t1:4ou,4ox+4om:4p0,4s5:4t1,4t8' +
  ':4uu,4wm:5ry,4xf:55 kh,4xg:j7,4xh:ki 4wr x69,526:53k,52p:53l,59k+59k:59l,59m+59k:59n,5ae:5ax,5ag:2o6m,5ay:5wo,' +
  '5az:92m,5b9:5bb,5bd:m2,5cd:5ea,5ch:5eb,5d4:5eg,5e8:5ek,5em+5em:5en,5kr+5kr:5ks,5mm+5mm:5mn,5q8:xve,5qd:xv4,5qf' +
  ':xvg,5qf+mt:2mo3,5qi:xvf,5qm:on u0 1ff1,5qm+me+li:wb,5qw:5rd xwy,5qx:un,5qz:qs ua 8tj wwd xv6 2l05 2l1r 2l3d 2' +
  'l4z 2l6l,5qz+mh:x9,5ro:5tk,5s7:wwt,5s7+5uu:2mvb,5sd:5uq,5wf:92g,61r:qc 12m 48n 8v1 94p wr3 2kzp 2l1b 2l2x 2l4j' +
  ' 2l65,6f5+6f4:73c,6fj:4m 1ejo,6go:9hu 9iu,6i1:wvj,6jb:79h,6k2:4ad wke,6kk:2k2j,6mo:1ejt,6mq:1ejv,6mr:1ejw,6n2:' +
  '8oc,6n3:8od,6n4:8oe,6n5:8of,6nm:6np,6o3+4ii:86n,6o3+6o2:86d,6pu:2l0b 2l1x 2l3j 2l55 2l6r 2ojw,6pu+mt:6o 2ojx,6' +
  'pu+mt+me:2mnj,6pz:1jfs 2kzl 2l17 2l2t 2l4f 2l61,6pz+lk:6zm,6pz+ms:6zv,6q6:7ew 7fk 7fu 1ejx,6q8:8cf,6qo:2ojs,6q' +
  'v:6v4,6r2+6r2:6r3,6r2+6r2+6r2:6r4,6r8:94b,6r9:94a,6rs:1i3i,6rz:7ke 2rfi,6sh:6sj 8tz,6tp:8ar,6tq:8as,6tr:2k3c,6' +
  'ts:2k3d,6tv:8at 2lts,6tw:8au,6tz:8aq,6u3:6zj,6u8:2rg1,6u9:2rf9,6uq:7gh,6ur:7g7,6va+lk:6zn,6x3:1e7o,6xe:7hc,6xl' +
  ':8cd,6xw:6xx,6yj:893,6ym:7gu 88u,6yq:891,6yx:88g,6yz:72b,6z2:72a,6z9:729,6zx:72e,70o:7js,730:1e7p,731:1e7q,732' +
  ':1e7r,733:1e7s,734:1e7t,735:1e7u,739:7g1,73v:73w,79a:7a3,7bg:7bj,7bw:7c3,7f0:7f4,7fa:7fb,7fc:7fh,7fl:7io,7g6:7' +
  'g8 7ga,7jb:8vd,7jd:2rd6,7jx:2qky 2ql5,7jy:73y 2ql4,7l9+7l9+7l9:2k4g,7sc:7vs 9hk 9jj 9ox 9uj 2zfs,7sd:7vt 9hl,7' +
  'sw:76o,7sx:76p,7sy:76q,7sz:76r,7t0:76s,7t1:76t,7t2:76u,7t3:76v,7t4:76w,7t5:76x,7vq:9i2,7vr:9i3,879:1efz,87a:1e' +
  'g0,87u:89l,89r:2rei,8bj:8ce,8qn:xhu,8rz:4as 6ps wkv 2k2f,8s0:1fdr,8s5:og 3vs 3w0 wxd,8s6:xvk,8xs:1f3s,8xu:6e6 ' +
  '87t 94t 2jfz,8yf:6e5 6we 1e6x,92k:5wu,9hd:1e6p 1e8h 1eg4,9hh:2ug4,9ho:1eg2,9hp:1eg3,9j0:6yp 890,9ko:9nc 1eh9,9' +
  'lt:1eg7,9lu:1egh,9lv:1eg8,9lx:1eg9,9ly:1egj,9lz:1ega,9m1:1egb,9m2:1egl,9m5:1egn,9m7:1ego,9m9:1egp,9mb:1egq,9md' +
  ':1egr,9mf:1egs,9mh:wx3 1egt,9mj:9t0 1egu,9ml:1egv,9mp:1egx,9mr:1egf,9ms:1egy,9mu:1egz,9my:1eh1,9n0:1eh3,9n9:1e' +
  'h8,9nf:kdl 1eha,9ni:1ehb,9nj:1ehc,9nl:fgk 1ehe,9nm:1ehf,9nn:1egc,9no:1ehg,9np:1egd,9nq:1ehh,9nr:1ege,9nt:1ehj,' +
  '9nu:1ehk,9nv:1ehl,9nw:1ehm,9nz:1eho,9o2:1eg6,9o3:1ehp,9oc:3g3 5hj 6c4-1 7b4-1 9a8 9r5 9si 9u8 feo x6f 1edp 1eg' +
  'g 1eje 1hsb,9oc+3fl:16m1,9oc+3fp:16m2,9oc+3fp+ffs:16m3,9oc+3ft:16m4,9oc+3fy:3h1,9oc+9oc:3h2,9oc+ffs:3g4 9r6 1e' +
  'jf,9oc+ffs+3fy:3h3,9op:2ug3,9oq:2v9v,9ot:ijg,9ou:feq,9ow:fft,9oz:azm,9p1:2yoz,9pa:2t51,9pk:a9x,9pp:ikg,aa2:aa3' +
  ',aeg:2tzr,af5:983,afn:ltf,afp:lvp,afq:lwt,afr:lzo,aim:96z,ako:dcr,app:beb,b96:97b,bi9:jrd,bmi:kc6,bp1:ph2,bp6:' +
  'imo,bp7:dgg,bpt:khm,bs3:kx5,cop:vk3,cov:k83,cy3:vj1,deb:kcq,dhf:kdi,duo:qze,dyu:ra6,ed0:sk7,f13:3nyw,f2d:upz,f' +
  '2l:f2m,fey:9sm,ffs:3g5 718 71b 71e 71h 71m 71q 9a9 9r7 9u9 1ejg,ffs+3fl:3h4,ffs+3fn:3h5,ffs+3fn+3ft:16m5,ffs+3' +
  'fn+ffs:16m6,ffs+3fr:16m7,ffs+3fr+ffs:16m8,ffs+3ft:3h6,ffs+3ft+ffs:16m9,ffs+3fx:16ma,ffs+3fy:3h7,ffs+3g2:16mb,f' +
  'fs+3ha:3h9,ffs+9oc:3h8,ffs+ffs:16mc,ffw:97q,fgg:9u7 9ul,fh5:9ac 9uo,fh6:96r 9un,fh7:96q 9ue,fi8:99u,fid:9ad 9u' +
  'i,fik:9ae 9mz 1eh2 2tcu-2,fj4:9af,fju:9ag,fjv:96t 9lw 1egi,fl0+gp8:a2n,fnp:2tip,fp1:fsy,ftw:fuk,fx4:2tqa,g1r:9' +
  'ah 9pi 20oi,g1s:972,g24:g29,g2t:9ai,g2z:9aj 9n3 1eh6,g39:2u4q,g3m:96u 9ak,g46:9al,g47:984,g4r:9am,g5t:lsa,g5u:' +
  'lv4,g5v:luv,g5w:lvo,g5z:lz0,g60:m18,g61:m1w,g62:m2n,g64:m1r,g67:m4m,g68:9an,g6t:9ao 2ues,g74:9ap,g76:96x,gbf:9' +
  'aq 9m3 1egm,ge1:9ar,get:9as 9n6 1eh7,gey:9at,gfs:9au,gg1:9av 9iw 3v6j,gg5:9iy,ggd:34m,ggg:34l,ggh:3yht,ggs:96y' +
  ' 9aw 9mw 1eh0,gh0:99j,gh5:9ax,ghu:96p 9ay,gja:9az 9nk 1ehd,gjs:9b0,gkj:9b1-1 9nx h5j 1ehn,gkx:2vfj 3tbs,gll:2v' +
  'g7,gmr:gms gnd,goj:2vik,gur:gv3,gx2:ifm,h2g:2w7q,h7j:9b3-1 hkb,has:2wu1,hgh:hgr,hij:hkv,hiu:2x4v,hkc:2wqk,hkf:' +
  '2wrj,hkn:2xbn,hky:9b5,hl6:9b6,hlh:9b7 9mn 1egw,hlm:2xdz,hlz:9b8,hlz+2kc6:a65,hns:hnw mry,ho3:9b9,hq1:hq2,hsr:h' +
  'tb htd,hwv:hz4,hwy:2xvw,i1c:9ba 2dk7,i2o:9bb,i4p:tru,i60:9bc,i6n:9bd,i76:974 9be,i77:973,i7s:9bf,i9a:9bg fcp,i' +
  '9d:9bh,ibk:3tbu,ijf:9bi,ijp:9bj 9m0 1egk,ik1:9bk,ik3:976,ikd:2zih,ike:9bl,ikf:iki,ild:ilu,inm:9bm,inn+jdc:a63,' +
  'inu:977 9bn,inz:9bo,ir8:9bp,ira:302j,iri:9bq,irv:9br,is3:9bs,its:979 9bt 9ns 1ehi 3tbt,itt:978,ity:3ho2,iu9:9b' +
  'u,iur:9bv,ivu:30g5,iwz:9bw,ix0:97a,ixj:30l9,j0d:30n3,j0m:j0y,j2d:j3a,jd4:9bx,jee:9by jef-1,jez:9bz,jf0:97c,ji1' +
  ':ji2,jl5:jml,jlr:jpu jqv,jqy:jrq jt3,jzj:9c0,jzo:9c1,jzp:97d,k0j:k0q,k1z:9c2,k21:99n,k2f:9c3,k2s:9c4,k37:32rb,' +
  'k3d:9c5,k4g:9c6,k4h:97f,k4l:9c7-1 kc0,k5q+lh7:a66,k6f:k6h,k6l+gp8:a64,k7u:k89,kco:97h 9c9,kcs:peu,kcv:pg0,kcw:' +
  'pfu,kcz:phd,kd4:pif,kdf:plz,kdk:9ca,kdm:kdn,kfi:kjj,koi:kox,kv1:kyv,kxd:3ra5,l50:346k,l5s:9cb,l7m:9cc,l7z:99p,' +
  'l89:9cd,l8a:97i,l9v:9ce,laj:9cf,lal:97j,las:9cg,laz:9ch,lcf:9ci,lch:97k,lck:9cj,ldg:9ck,ldh:97l,ldm:97m,lgr:lg' +
  's,lmt:358g,lnb:lne,lrf:2uaw,lrg:2uav,ls6:2uat,lsc:u75,lta:g5s,lti:2ub3,lu0:lzt,lu7:2uba,lub:2ub7,lus:ucu,lvm:2' +
  'ub9,lwy:2ubj,lyp:2ubm,lyy:2ubi,lyz:2ubh,m0o:35od,m0p:2ubq,m0q:2ubs,m17:2ubt,m26:2uby,m2e:2uc0,m2q:m37,m2r:2ubu' +
  ',m32:2ubv,m3u:3ly5,m4c:2uc9,m59:2ucf,m5g:2ucg,m5k:2ucd,m6a:2ucj,m7f:9cl,m7g:97n,mju:9cm,mjv:97o-1,mk6:9cn,mkb:' +
  '9co,mkn:9cq,ml5:9cr,ml7:9cs,mng:9ct,mnh:97s,msh:37fz,mtg:9cu,mtl:9cv,mtn:97t,mud:37jx,mxu:37mw,mzo:n06,mzs:37r' +
  '5,n30:9cw,n3a:9cx,n4o:9cy,n4v:9cz,n54:9d0,n5c:9d1 3u4i,n7t:38ch,n7v:9d2,n82:9d3,nee:9d4,nel:9d5,nf0:38t8,nfy:9' +
  'd6,ngf:9d7,nhq:9d8,niz:nj0,nob:9d9,noi:9da,noz:9db,npw:nrj,nq6:39so,ny2:97w 9dc,ny3:97x 9n1 1eh4,nyx:3a5r,o1k:' +
  '9dd,o1q:9de,o2r:3afe,o3p:o3y,o59:3alw,o6s:9df,o75:3ar2,o97:9dg,o9o:99r,oah:9dh,oer:3b7g,ohl:3bgb,ohy:3ber,ok1:' +
  '3bm1,okc:3uzj,okz:9di,ooo:9dj,oop:97z,or9:os6,ord:ore,ouf:4dq4,ouq:ouu,p0f:980,p4m:9dk,p5d:9dl,p5e:97v 982,p5f' +
  ':981,p6y:986 9dm,p8d:9dn,pa9:9do,paa:989,pak:9dp,paq:9dq,pbn:9dr,pbo:3d4e,pdr:98b 9ds,pds:98a,pe1:9dt,ph8:pj5,' +
  'pij:pip,pj0:33av,pnn:9du,pnu:9dv,pnx:3dvk,po3:9dw,po4:3dx2,poc:9dx,pog:3dy5,pos:9dy,pp7:9dz,pp9:3749,ppb:9e0,p' +
  'ri:9e1,prm:9e2,prs:9e3,prt:98e-2 9ix gg4 ggt,pvj:pvt,q36:3eme,q69:3enj,q6l:qbj,qif:qip 3fic,qj1:9e4,qj2:98h,qj' +
  'v:9e5,ql1:3fpx,qnv:qol,qww:9e6,qx8:9e7,qxv:9e8,qxw:98i,r5q:9e9,r5r:98k,r5s:98j,r63:9ea,r7l:98l,r82:98m 9eb,r9c' +
  ':9ec,ram:rct,re2:re4,rhc:rhd,ri1:3hf8,rk6:rkf,rkw:98o,rp3:9ed,rpi:9ee,rpx:9ef,rq4:rqb,rqw:9eg,rrx:9eh,rvf:3b2s' +
  ',rvh:98p,rxg:9ei,rxs:9ej,ry7:rye,rzn:9ek,s0a:3ies,s11:s1m,s5z:s63,s6j:9el,s6p:s6q,s7e:9em,s8v:s9z,sbq:98r,sd7:' +
  '9en,sds:9eo,sdx:9ep,sdy:98s-2,shk:3jdo,sk1:9eq,smv:snd snp,sp5:9er,ssm:9es,sss:9et,ssx:9eu,sy2:3x71,sz7:t0t,t6' +
  '5:t66,tax:3kqi,tc5:98w,tiw:98y,tj3:98z,tj4:9ew,tm0:990,tng:9ex,tnh:98v 992,tqe:3lar,trq:9ey,trt:9ez,tt4:9f0,tw' +
  '1:9f1,tw2:994,twe:9f2,twi:9f3,twp:9f4,tzf:9f5,u06:995,u0d:9f6,u0j:9f7,u0x:9f8,u17:43d3,u1l:3mg0,u2a:3uok,u3i:3' +
  'ml2,u45:996,u5k:9f9,u6m:997,u6z:9fa,u72:998,u73:999 9fb,u74:99b,u7i:u7m,uar:99c,uc6:9fc,uc9:9fd,ucs:9fe,ui4:99' +
  'e,ujs:99f 9ff,ul4:9fg,ulb:9fh,un9:9fi,unj:9fj,unm:9fk,unw:99g 9fl,uoq:9fm,uws:99h,uzp:9fn,v8f:99i,v9e:v9f,vat:' +
  '9fo,vb3:9fp,vc5:9fq,vc6:99k,vcr:9fr,vcz:9fs,vd0:99l,vd9:9ft,vdd:9fu vde,veh:9fv,vel:9fw,vem:99m,vf2:9fx,vf7:9f' +
  'y,vfk:9fz,vgb:9g0,vgq:9g1,vgw:99o,vgy:9g2,vi7:99q,vil:9g3,vix:99s,vj0:99t 9g4,vj3:99v,vj4:9g5,vnu:wim,vo0:wj0,' +
  'vr4:wik,vua:wiw,w2h:wjj,w4x:wji,w5p:wic,wbv:wjk,wc5:wjm,wcf:wje,wci:wj4,wgo:wiv,wk5:6ud 7uq x4h 2k2k,wkk:x3y,w' +
  'ko:6kh,wl2:6ki 1fdd 20iu 2k2d 2k2z,wuk:8ts x4m,wuw:20ik 2rcx,wvd:1fjf,wws+5uu:2mwc,wz7+wz7:wz8,x0n:x3p,x1a:sf,' +
  'x1b:ot,x1e:1ev6,x2o:6ex,x2x:x2y,x3a:3a8,x3m:sk 6gc 8so 2mp8,x3n:gr qd s5 us 101 6wk 8sp xwb 1fe1 1jgu 2kzq 2l0' +
  'c 2l1c 2l1y 2l2y 2l3k 2l4k 2l56 2l66 2l6s 2mp9,x3n+mq:707,x3n+mt:2mo4,x3n+x3n:2mos,x5a:id x5b,x5a+me:2mnu,x5f:' +
  'x5e,x5h:x5g,x6j:4af 2k34,xdn:1i3g,xdo:1i3f,xi5:xib,xjk:xja,xkx:xn7,xlv:xna,xv0:6mi,1e9e+1h5z:1dum,1e9g+1h5z:1d' +
  'un,1e9i+1h5z:1duo,1e9k+1h5z:1dup,1e9m+1h5z:1duq,1e9o+2tk:1dur,1ehq:9ll 9ln,1f3c:6tx 8ap wwq 2re0,1f3w:7gd 2k2c' +
  ' 2rd0,1f40:89i,1f9e:1fbl,1f9v:1fbn,1fa2:1kxk,1fde:x3u,1fei:x3v,1fgm:1fhc,1g1w:2muq,1g36:2mvj,1ggu:7j9 1omx,1gl' +
  'y+1gly:1glz,1h5z:18x,1hiy:nc,1ik4+1iki+1ij6:1ij7,1ik4+1iki+1ijc:1ijd,1ik4+1iki+1ijn:1ijo,1ik4+1iki+1ijt:1iju,1' +
  'ik4+1iki+1ijw:1ijx,1ik4+1iki+1ijy:1ijz,1ite:1ivs-1,1itf:1ivu,1itg:1ivv,1iuq:1ivw,1iur:1ivx,1jnr:1tb,1jo1:1tq,1' +
  'jo1+li:1u1,1jo1+1tm:1tn,1jvp+1jvp:1jvs,1jvp+1jvp+1jvz:1jvt,1jvp+1jvp+1jw0:1jvu,1jvp+1jvz:1jvq,1jvp+1jw0:1jvr,1' +
  'jvv+1jvv:1jvx,1jvv+1jvv+1jvz:1jvy,1jvv+1jvz:1jvw,1jw3+1jvz:1jw4,1jw3+1jw0:1jw5,1jw3+1jw3:1jw6,1jw3+1jw3+1jvz:1' +
  'jw7,1jw3+1jw3+1jw0:1jw8,1jz6:mm 1ue 20x 5p4 2jvs,1jz6+1jz6:1uf 20y 1jz7,1jz8:1tz 213 1joa,1k8a:1k8i,1kug:2ay,2' +
  '0hs:6kj,20oj:g2a,2dk2:fim,2dk8:fit,2j22:2qrx,2j24:2qtf,2jei:2qnr,2jej:2qqq,2jek:2qlv,2jel:2qmm-1,2jem:2qmq,2je' +
  'n:2qmr,2jfk:83j,2jg0:88l,2jx4+2jxh:7l5,2jx4+2jxh+2jxq:7l6,2k1j:7k3,2kc6:l7n,2mp5:5u7,2mpc:hl,2mpc+mt:2mog,2mpn' +
  ':5uh,2muo:5s3,2mut:5s9,2muv:5sc 5un,2mux:5rr,2mv2:5sm,2mv3:5uk,2mv3+me:2mwb,2mv4:5s0,2mv5:jc,2mv6:5v6,2mv7:kj,' +
  '2mvf:5sa,2mvg:6ep,2mvh:j6,2mvi:5v5,2mvk:5rp,2mvl:6fk,2mvq:6fl,2mvw:6fm,2mw1:6fn,2mw8:5sy,2mw9:6fv,2mxb:o5,2q6l' +
  ':7ai,2q6m:6nu,2rco:2j23,2rps:6o4,2rpt:6oc,2s0l:7kn,2s0n:7kt,2sca:2qz8,2ta9:388e,2tai:9uf,2taj:9uk,2tak:9ty,2ta' +
  'l:9ud,2tam:9ug,2tap:9um,2tcc:9uh,2tce:9up,2u4g:3030,2u6r:2yve,2u6z:2vl8,2uco:96v,2ujr:2uk0,2xm0:2xlz,2yma:975,' +
  '2yvg:385u,31m6:31n2,33a7:3tby,33ba:3dk0,33bz:3dol,345f:3vay,34br:fcu,3563:359p,37dg:3rnp,38d0:97u,395l:395m,39' +
  '6b:nis,39av:39b8,3alg:3alt,3b2v:97y,3ckr:985,3cqz:988,3cr0:987,3d7s:3d7h,3dfc:3dfd,3dxt:98d,3ecg:3ecr,3eie:3eo' +
  '6,3ezo:3f55,3gtt:3gtx,3gz2:dxx,3gz6:98n,3id3:98q,3l73:991,3mgl:3mgn,3mv3:99a,3n68:99d,3nh0:3nhw,3opv:3oqa,3tbq' +
  ':bpb,3tbz:j7c,3ti6:l5x,3zyc:jzg,402c:43vh,41zf:pem,43qv:fl6,43qz:2tix,43sr:asv,43to:i1v,43uj:iv8,43wj:le2,43x6' +
  ':c6d,43xc:43xd,43xf:m9o,43ye:43yf,43yj:ce3,43yo:ce7,4405:cnl,4407:39dh,440x:cw2,441f:441i,442s:35bx,4439:4g3z,' +
  '443d:3vj4,443p:3skd,444g:sfn,444j:dlh,444p:skj,4451:3tgz,4452:tcn,445g:3svk,4463:4464,446c:tiy,4a3s:pte,4dwo:3' +
  'ehx';

/** @type {Map<string, string>} */
const PROTOTYPES = new Map();
const number = (/** @type {string} */ text) => parseInt(text, 36);
for (const entry of TABLE.split(',')) {
  const [prototype = '', like = ''] = entry.split(':');
  const looks = String.fromCodePoint(...prototype.split('+').map(number));
  for (const run of like.split(' ')) {
    const [from = '', more = '0'] = run.split('-');
    for (let at = 0; at <= number(more); at += 1) PROTOTYPES.set(String.fromCodePoint(number(from) + at), looks);
  }
}

const IGNORED =
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/**
 * What a text looks like (UTS 39 section 4).
 * @param {string} text
 */
export function skeleton(text) {
  const plain = [...text.normalize('NFD').replace(IGNORED, '')];
  return plain.map((char) => PROTOTYPES.get(char) ?? char).join('').normalize('NFD');
}
