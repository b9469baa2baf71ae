# hide.sh FOLDER:FOLDER... COMMAND...: runs a command where these folders are empty. In
# a mount namespace of its own, which ends with it.
folders=$1
shift
exec unshare -rm sh -c '
  IFS=:
  for hidden in $1; do
    mount -t tmpfs none "$hidden" || exit 70
  done
  unset IFS
  shift
  exec "$@"' sh "$folders" "$@"
