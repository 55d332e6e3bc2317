import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInLinks, manifestOf } from '@millwright/links/catalogue.ts'
import {
  builtInDescription,
  builtInName,
  invalidSettingOf,
  linkTitle,
  parameterTexts,
  withParameterLabels,
} from './built-in-links.ts'

test('every built-in link and each of its parameters has a label in both languages', async () => {
  for (const link of builtInLinks) {
    const { id, name, filters = [], options = [] } = await manifestOf(link)
    assert.equal(builtInName(id), link.name)
    assert.equal(linkTitle(id), name)
    for (const language of ['en', 'de'] as const) {
      assert.ok(builtInDescription(link.name, language), `${name} has no description`)
      for (const parameter of [...filters, ...options]) {
        const { label, hint } = parameterTexts(id, parameter, language)
        assert.notEqual(label, parameter.key, `${name}: ${parameter.key} has no label`)
        assert.equal(hint === parameter.description, language === 'en', `${name}: the hint of ${parameter.key}`)
      }
    }
  }
})

test('shows links of other vendors with the texts that they report', () => {
  const parameter = { key: 'ip_range', description: 'Network' }
  assert.deepEqual(parameterTexts('acme.scanner', parameter, 'de'), { label: 'ip_range', hint: 'Network' })
  assert.equal(linkTitle('acme.scanner'), 'acme.scanner')
  assert.equal(builtInDescription(builtInName('millwright.links.unknown'), 'en'), undefined)
})

test('names the parameters of a scan in a message by their labels', () => {
  const scan = {
    assetLinkId: 'millwright.links.plant',
    discoveryFilters: [{ key: 'ip_range' }],
    discoveryOptions: [{ key: 'rate' }],
  }
  const message = '"rate" must be a whole number, but is "seed".'
  assert.equal(withParameterLabels(message, scan, 'en'), '"Devices per second" must be a whole number, but is "seed".')
  assert.equal(withParameterLabels(message, scan, 'de'), '"Geräte pro Sekunde" must be a whole number, but is "seed".')
  assert.equal(withParameterLabels(message, { ...scan, assetLinkId: 'acme.scanner' }, 'en'), message)
})

test('names the setting of a scan that is invalid', () => {
  const scan = {
    assetLinkId: 'millwright.links.plant',
    discoveryFilters: [{ key: 'ip_range' }],
    discoveryOptions: [{ key: 'rate' }],
  }
  const message = 'INVALID_ARGUMENT: "rate" must be a whole number, but is "seed".'
  assert.equal(invalidSettingOf({ ...scan, message }, 'en'), 'Devices per second')
  assert.equal(invalidSettingOf({ ...scan, message: 'INVALID_ARGUMENT: "seed" is unknown' }, 'en'), undefined)
  assert.equal(invalidSettingOf({ ...scan, message: '"rate" is unknown' }, 'en'), undefined)
})
