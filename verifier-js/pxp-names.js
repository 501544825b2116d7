// @ts-check
/** What a room takes as the address of a source: crate `pxp`, module `wire`. */

const HTTPS = /^https:\/\/([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)(?::[0-9]{1,5})?(?:[/?#][!-[\]-~]*)?$/i;

/**
 * `https`, no user name, a host of ASCII letters without an `xn--` label, visible ASCII without a backslash.
 * @param {string} uri
 */
export function isHttps(uri) {
  const host = HTTPS.exec(uri)?.[1];
  return host !== undefined && !host.split('.').some((label) => /^xn--/i.test(label));
}
