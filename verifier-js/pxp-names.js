// @ts-check
/** What a room takes as the address of a source and as a label: crate `pxp`, modules `wire` and `limit`. */

const HTTPS = /^https:\/\/([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)(?::[0-9]{1,5})?(?:[/?#][!-[\]-~]*)?$/i;

/**
 * `https`, no user name, a host of ASCII letters without an `xn--` label, visible ASCII without a backslash.
 * @param {string} uri
 */
export function isHttps(uri) {
  const host = HTTPS.exec(uri)?.[1];
  return host !== undefined && !host.split('.').some((label) => /^xn--/i.test(label));
}

/**
 * Labels of limits and values are plain, so that none passes for another; a limit may have none.
 * @param {{label?: string}[] | undefined} labelled
 */
export function areLabels(labelled) {
  return (labelled ?? []).every(({ label }) => label === undefined || /^[A-Za-z0-9 ._-]*$/.test(label));
}
