//! `assets/pi-extension.js` in `harness-sim/hosts/pi-host.mjs`.
