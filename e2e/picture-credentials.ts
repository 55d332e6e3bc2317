import { randomBytes } from 'node:crypto'
import { users as deviceUsers } from '@millwright/links/plant/device.ts'
import type { Caller } from './platform.ts'
import { linkOf, plant } from './shop-floor.ts'

/** This file creates the credentials of the plant of the pictures. */

const snmp = 'millwright.links.snmp'

type CredentialInput = {
  name: string
  link: string
  values: Record<string, string>
  ipRanges: string[]
  purpose?: 'discovery' | 'monitoring'
}

/** Creates credentials of the type of an asset link, and returns their id. */
async function createCredential(
  caller: Caller,
  gatewayId: string,
  { name, link, values, ...metadata }: CredentialInput,
): Promise<string> {
  const assetId = String((await linkOf(caller, gatewayId, link))?.assetId)
  const { data: schema } = await caller.credentials.createSchemaFromLink({ body: { data: { assetId } } })
  const { data } = await caller.credentials.createInstance({
    body: { data: { schemaId: schema.id, name, values, metadata } },
  })
  return data.id
}

function randomSecret(): string {
  return randomBytes(12).toString('hex')
}

/** Creates credentials that the devices of two subnets accept, and returns the id of those of the second subnet. */
export async function createCredentials(caller: Caller, gatewayId: string): Promise<string> {
  const user = (username: 'user' | 'admin') => ({ username, password: deviceUsers[username] ?? '' })
  const version3 = { version: '3', user: 'netops', authProtocol: 'sha256', privProtocol: 'aes128' }
  await createCredential(caller, gatewayId, {
    name: 'Switches, SNMPv3',
    link: snmp,
    values: { ...version3, authPassword: randomSecret(), privPassword: randomSecret() },
    ipRanges: ['10.0.0.0/16'],
  })
  const reading = { name: 'Controllers, read only', link: plant, values: user('user'), ipRanges: ['10.0.0.0/24'] }
  const instanceId = await createCredential(caller, gatewayId, reading)
  const maintenance = { link: plant, values: user('admin'), ipRanges: ['10.0.1.0/24'] }
  const maintenanceId = await createCredential(caller, gatewayId, { ...maintenance, name: 'Controllers, maintenance' })
  const { data: set } = await caller.credentials.createInstancesTemplate({
    body: { data: { name: 'Controllers of the plant' } },
  })
  await caller.credentials.mapInstance({ params: { instancesTemplateId: set.id, instanceId } })
  return maintenanceId
}

/** Creates an old password, which the devices refuse. It is newer than the other credentials, so a scan tries it first. */
export async function createOldPassword(caller: Caller, gatewayId: string): Promise<void> {
  const values = { username: 'service', password: randomSecret() }
  const old = { name: 'Controllers, old password', link: plant, values, ipRanges: ['10.0.0.0/16'] }
  await createCredential(caller, gatewayId, old)
}

/** Creates credentials that no scan has used yet. */
export async function createUnusedCredentials(caller: Caller, gatewayId: string): Promise<void> {
  const community = { version: '2c', community: randomSecret() }
  const server = { username: 'mes', password: randomSecret() }
  const switches = { name: 'Old switches, SNMPv2', link: snmp, values: community, ipRanges: ['10.0.9.0/24'] }
  await createCredential(caller, gatewayId, switches)
  await createCredential(caller, gatewayId, {
    name: 'OPC UA servers',
    link: 'millwright.links.opcua',
    values: server,
    ipRanges: ['10.0.1.0/24'],
    purpose: 'monitoring',
  })
}
