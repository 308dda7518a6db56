# Runs PostgreSQL for as long as the process that started this script lives.
#
#   sh supervise.sh FOLDER POSTGRES ARGUMENT..
#
# Standard input is a pipe that only the owner holds open and nobody writes to. However the owner ends, also by
# SIGKILL, the kernel closes the pipe; then the server is stopped and FOLDER removed, as nobody else is left to do it.
# The first line of output is the postmaster's process id.

folder=$1
shift
trap '' PIPE
# `rm` and `sleep` are wanted also where the owner's path holds neither.
PATH=$PATH:/usr/bin:/bin
exec 3<&0 </dev/null

"$@" 3<&- >>"$folder/log" 2>&1 &
postmaster=$!

(
    exec >/dev/null 2>&1
    read -r line <&3
    : >"$folder/orphaned"
    kill -INT "$postmaster"
    # A backend that is stopped or stuck holds up the fast shutdown; the immediate one does not wait for it.
    sleep 15
    kill -QUIT "$postmaster"
) &
watcher=$!
exec 3<&-

echo "$postmaster"
wait "$postmaster"
code=$?
kill "$watcher" 2>/dev/null
if [ -e "$folder/orphaned" ]; then
    cd / && rm -rf -- "$folder"
fi
exit "$code"
