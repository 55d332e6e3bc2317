import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { macManufacturer } from './mac-manufacturer.ts'
import { manufacturerName } from './manufacturer-name.ts'

test('macManufacturer returns the owner of the block under its short name, in any notation of the address', async () => {
  for (const address of ['00:1B:1B:12:34:56', '00-1b-1b-12-34-56', '001b.1b12.3456'])
    assert.equal(await macManufacturer(address), 'Siemens')
  assert.equal(await macManufacturer('00:90:E8:00:00:01'), 'Moxa')
  assert.equal(await macManufacturer('00:30:DE:00:00:01'), 'WAGO')
  assert.equal(await macManufacturer('00:00:BC:00:00:01'), 'Rockwell Automation')
})

test('macManufacturer prefers the smallest block', async () => {
  assert.equal(await macManufacturer('70:B3:D5:00:10:01'), 'SOREDI touch systems GmbH')
  assert.equal(await macManufacturer('70:B3:D5:00:00:01'), undefined, 'the IEEE divides this block')
})

test('macManufacturer returns undefined for local, multicast, unassigned and invalid addresses', async () => {
  for (const address of ['02:00:00:00:00:01', '01:00:5E:00:00:01', 'FF:FF:FF:FF:FF:FF', '', '00:1B', 'x'])
    assert.equal(await macManufacturer(address), undefined)
})

test('macManufacturer accepts any text', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ maxLength: 30 }), async (text) => {
      const name = await macManufacturer(text)
      return name === undefined || name !== ''
    }),
  )
})

test('manufacturerName returns one name for the different names of a manufacturer', () => {
  const names = ['Siemens AG', 'SIEMENS AG', ' Siemens AG, Transportation Systems', 'Siemens']
  assert.deepEqual([...new Set(names.map(manufacturerName))], ['Siemens'])
  assert.equal(manufacturerName('MOXA TECHNOLOGIES CORP., LTD.'), manufacturerName('Moxa.Inc'))
  assert.equal(manufacturerName('Endress & Hauser GmbH & Co'), 'Endress+Hauser')
  assert.equal(manufacturerName('Nokia Siemens Networks GmbH & Co. KG.'), 'Nokia Siemens Networks GmbH & Co. KG.')
  assert.equal(manufacturerName('Abbey Systems Ltd'), 'Abbey Systems Ltd')
})
