#!/bin/bash
# Start mysqld as the official images do: make the data folder at first, set root's password, run
# as the user mysql. Further arguments go to mysqld; any other command is run as it is.
#
# MYSQL_ROOT_PASSWORD or MYSQL_ROOT_PASSWORD_FILE, else MYSQL_ALLOW_EMPTY_PASSWORD=yes;
# MYSQL_ROOT_HOST (%), MYSQL_DATABASE. From /docker-entrypoint-initdb.d: *.sh is sourced once the
# data folder is made, *.sql is run at the first start, one statement a line. None of it is logged.
set -euo pipefail

data=/var/lib/mysql
secret_sql=/dev/shm/binlogkit-init.sql # memory, not a disk

fail() {
    echo "entrypoint: $*" >&2
    exit 1
}

quoted() { # a string literal of SQL
    local text=${1//\\/\\\\}
    printf "'%s'" "${text//\'/\\\'}"
}

take_password() {
    if [[ -n ${MYSQL_ROOT_PASSWORD_FILE:-} ]]; then
        [[ -z ${MYSQL_ROOT_PASSWORD:-} ]] || fail "set MYSQL_ROOT_PASSWORD or its _FILE, not both"
        MYSQL_ROOT_PASSWORD=$(<"${MYSQL_ROOT_PASSWORD_FILE}")
        export MYSQL_ROOT_PASSWORD
        unset MYSQL_ROOT_PASSWORD_FILE
    fi
    [[ -n ${MYSQL_ROOT_PASSWORD:-} || -n ${MYSQL_ALLOW_EMPTY_PASSWORD:-} ]] ||
        fail "set MYSQL_ROOT_PASSWORD, MYSQL_ROOT_PASSWORD_FILE or MYSQL_ALLOW_EMPTY_PASSWORD"
    [[ ${MYSQL_ROOT_PASSWORD:-} != *$'\n'* ]] || fail "the password holds a line break"
}

write_accounts() { # the init file: one statement a line
    local password host
    password=$(quoted "${MYSQL_ROOT_PASSWORD:-}")
    host=$(quoted "${MYSQL_ROOT_HOST:-%}")
    echo "SET sql_log_bin=0;"
    echo "ALTER USER root@localhost IDENTIFIED BY ${password};"
    if [[ ${host} != "'localhost'" ]]; then
        echo "CREATE USER root@${host} IDENTIFIED BY ${password};"
        echo "GRANT ALL ON *.* TO root@${host} WITH GRANT OPTION;"
    fi
    if [[ -n ${MYSQL_DATABASE:-} ]]; then
        echo "CREATE DATABASE IF NOT EXISTS \`${MYSQL_DATABASE//\`/\`\`}\`;"
    fi
    local file
    for file in /docker-entrypoint-initdb.d/*.sql; do
        [[ ! -e ${file} ]] || cat "${file}"
    done
}

shaping_arguments() { # mysqld's arguments that --initialize-insecure takes
    local word
    for word in "$@"; do
        case ${word} in
        --log-bin* | --log_bin* | --skip-log-bin | --init-file* | --gtid* | --enforce-gtid* | \
            --plugin-load* | --early-plugin-load*) ;;
        *) printf '%s\0' "${word}" ;;
        esac
    done
}

if [[ $# -eq 0 || ${1} == -* ]]; then
    set -- mysqld "$@"
fi
if [[ ${1} != mysqld ]]; then
    exec "$@"
fi
shift

if [[ ! -d ${data}/mysql ]]; then
    take_password
fi
if [[ ${EUID} -eq 0 ]]; then
    chown -R mysql:mysql "${data}" /run/mysqld
    exec setpriv --reuid=mysql --regid=mysql --clear-groups -- "${BASH_SOURCE[0]}" mysqld "$@"
fi

base=(--no-defaults --basedir=/opt/mysql --lc-messages-dir=/opt/mysql/share "--datadir=${data}")
run=("${base[@]}" --socket=/run/mysqld/mysqld.sock --pid-file=/run/mysqld/mysqld.pid --port=3306)
umask 077
rm -f "${secret_sql}"
if [[ ! -d ${data}/mysql ]]; then
    mapfile -d '' -t shaping < <(shaping_arguments "$@")
    mysqld "${base[@]}" "${shaping[@]}" --skip-log-bin --initialize-insecure
    for file in /docker-entrypoint-initdb.d/*.sh; do
        # shellcheck source=/dev/null
        [[ ! -e ${file} ]] || . "${file}"
    done
    write_accounts >"${secret_sql}"
    run+=("--init-file=${secret_sql}")
fi
unset MYSQL_ROOT_PASSWORD
exec mysqld "${run[@]}" "$@"
