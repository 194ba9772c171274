function __complete_dpproxy
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct)
    and set COMP_LINE "$COMP_LINE "
    /usr/bin/dpproxy
end
complete -f -c dpproxy -a "(__complete_dpproxy)"
