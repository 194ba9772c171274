complete -o default -o bashdefault -C /usr/bin/dpproxy dpproxy
