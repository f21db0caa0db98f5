# Draws what search_replay --plots left in a folder, as SVG beside it: gnuplot -c plots.gp FOLDER
folder = ARG1
array colours[6] = ["#0072b2", "#d55e00", "#777777", "#009e73", "#cc79a7", "#e69f00"]
colour(i) = colours[1 + (i - 1) % 6]
set grid lc rgb "#dddddd"
set key noenhanced bmargin center horizontal  # below the axes: it covers no curve
set title noenhanced

load folder."/replay_names.gp"
columns = words(tasks) < 4 ? words(tasks) : 4
rows = (words(tasks) + columns - 1) / columns

curve(task, strategy) = sprintf("%s/curves_%s_%s.tsv", folder, task, strategy)

set terminal svg size 320 * columns, 360 * rows + 40 dynamic font "sans-serif,11" background "white"
set yrange [0.5:1.01]
set logscale x
set autoscale xfix  # to the last trial, not to the next power of ten
do for [axis in "trials device_seconds"] {
  x = axis eq "trials" ? 1 : 2
  set output folder."/".axis.".svg"
  set multiplot layout rows,columns title "best so far, as a share of the best of all: median over seeds".(x == 1 ? ", worst to best" : "")
  do for [task in tasks] {
    set title task
    set xlabel (x == 1 ? "trials" : "device-seconds")
    plot for [i=1:(x == 1 ? words(contenders) : 0)] curve(task, word(contenders, i)) using x:4:5 every ::1 with filledcurves \
             fs transparent solid 0.15 noborder lc rgb colour(i) notitle, \
         for [i=1:words(contenders)] curve(task, word(contenders, i)) using x:3 every ::1 with lines lw 2 lc rgb colour(i) title word(contenders, i)
  }
  unset multiplot
}

load folder."/quality_names.gp"
if (words(models) > 0) {
  set terminal svg size 900,600 dynamic font "sans-serif,11" background "white"
  set output folder."/recall.svg"
  set title "share of the k fastest among the k that the model ranks highest, mean over tasks"
  set xlabel "k"
  set ylabel "recall"
  set xrange [1:256]
  set yrange [0:1.01]
  plot for [i=1:words(models)] sprintf("%s/recall_%s.tsv", folder, word(models, i)) using 1:2 every ::1 with lines lw 2 lc rgb colour(i) title word(models, i)

  unset logscale x
  set autoscale x
  set terminal svg size 1200,600 dynamic font "sans-serif,11" background "white"
  set output folder."/quality.svg"
  set title "pairwise accuracy over pairs within 3 times the best"
  unset xlabel
  set ylabel "accuracy"
  set yrange [0:1]
  set style data histogram
  set style histogram clustered gap 1
  set style fill solid 0.8 noborder
  set bmargin 8
  set xtics rotate by -20 noenhanced
  set key outside top center horizontal
  plot for [i=1:words(models)] folder."/quality.tsv" using (column(i + 1)):xtic(1) every ::1 lc rgb colour(i) title word(models, i)
}
