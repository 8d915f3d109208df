# shellcheck shell=bash
# Where pip and npm fetch from, and whom they trust. Sourced by the scripts beside it, inside a build only.

# An empty file means: no extra certificates were given. Node adds them to its own; pip's list is replaced, so it is
# joined with Debian's.
if [ -s /npm/ca.pem ]; then
  export NODE_EXTRA_CA_CERTS=/npm/ca.pem
  cat /etc/ssl/certs/ca-certificates.crt /npm/ca.pem >/npm/all-ca.pem
  export PIP_CERT=/npm/all-ca.pem
fi
# Unset is not the same as empty, for pip and for npm.
for name in PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST; do
  if [ -z "${!name:-}" ]; then unset "$name"; fi
done
if [ -n "${NPM_REGISTRY:-}" ]; then export npm_config_registry=$NPM_REGISTRY; fi
export npm_config_loglevel=error npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
export npm_config_ignore_scripts=true npm_config_cache=/npm/cache
export npm_config_fetch_retries=3 npm_config_fetch_retry_mintimeout=1000 npm_config_fetch_retry_maxtimeout=5000

# 900 s: about 190 MB over 2 Mbit/s.
npm() { timeout 900 /npm/tree/bin/npm "$@"; }
export PATH=/npm/tree/bin:$PATH
