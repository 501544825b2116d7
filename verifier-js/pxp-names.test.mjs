// @ts-check
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { areLabels, isHttps } from './pxp-names.js';

test('a source is an https address of a plain host', () => {
  for (const good of [
    'https://hall.example/plan.pdf',
    'HTTPS://Hall.example:8443?a=b#c',
    'https://hall.example',
    'https://hall.example/a@b:c',
  ]) {
    assert.equal(isHttps(good), true, good);
  }
  for (const bad of [
    'http://hall.example/',
    'javascript:0',
    'https:hall.example',
    'https://',
    'https:///plan',
    'https://user@hall.example/',
    'https://user:pw@hall.example/',
    'https://hall.example\\@evil.example/',
    'https://hall.example/a b',
    'https://hall.example/\u202e',
    'https://hall.example/\n',
    'https://h\u0430ll.example/',
    'https://xn--hll-5cd.example/',
    'https://a.XN--hll-5cd.example/',
    'https://hall..example/',
    'https://hall.example:/',
    'https://hall.example:port/',
    'https://hall.example:123456/',
  ]) {
    assert.equal(isHttps(bad), false, bad);
  }
});

test('labels are plain', () => {
  assert.equal(areLabels(undefined), true);
  assert.equal(areLabels([{}, { label: 'Net rent_2.a-b' }]), true);
  for (const label of ['r\u0435nt', 'ren\u200bt', 'rent\n', 'r\u00e9nt', 'rent!']) {
    assert.equal(areLabels([{ label: 'rent' }, { label }]), false, label);
  }
});
