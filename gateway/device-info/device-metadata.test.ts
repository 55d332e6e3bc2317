import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLog } from '../log.ts'
import { temporaryFolder } from '../testing.ts'
import { DeviceMetadata } from './device-metadata.ts'

test('DeviceMetadata finds a device whose MAC address the inventory stores in another notation', async () => {
  const file = join(temporaryFolder(), 'device-metadata.json')
  const options = { file, log: createLog({ level: 'silent' }) }
  const mac = (address: string) => [{ asset_identifier_type: 'MacIdentifier', mac_address: address }]
  const metadata = await DeviceMetadata.open(options)
  metadata.set('link', { asset: { asset_identifiers: mac('02-00-5E-AB-CD-EF') }, metadata: 'ZGV2aWNl' })
  await metadata.close()
  const again = await DeviceMetadata.open(options)
  for (const address of ['02:00:5e:ab:cd:ef', '02:00:5E:AB:CD:EF', '02-00-5E-AB-CD-EF']) {
    assert.deepEqual(again.find('link', mac(address)), { metadata: 'ZGV2aWNl' }, address)
  }
  assert.deepEqual(again.find('link', mac('02:00:5e:ab:cd:ee')), {})
})
