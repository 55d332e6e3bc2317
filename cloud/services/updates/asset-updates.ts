import type { InventoryDevice } from '@millwright/api/inventory/devices.ts'
import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { type AssetUpdates, retrievedKinds, type updates } from '@millwright/api/updates.ts'
import { compareVersions } from '@millwright/api/version-order.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { showDevice } from './campaign.ts'
import { assessCompatibility, type InstallableArtefact, productMismatch } from './compatibility.ts'
import { listUpdatesOfAsset } from './device-store.ts'
import { readTopology } from './device-topology.ts'
import { type DeviceSituation, readSituation, readUsableArtefacts, withRefusal } from './target-assessment.ts'
import { impactOf } from './topology-impact.ts'

/** The maximum number of artefacts and of updates on the page of an asset. */
const shownArtefacts = 50
const shownUpdates = 20

/** What the update hub knows about one asset. */
export function assetUpdateHandlers(
  context: Context,
): Pick<Handlers<typeof updates>, 'readAssetUpdates' | 'readImpact'> {
  return {
    async readAssetUpdates({ params: { id } }, caller) {
      const device = await requireDevice(context, caller, id)
      const situation = await readSituation(context, caller, [id])
      const found = situation.links.get(id)
      return {
        data: {
          assetId: id,
          ...(device.firmwareVersion === undefined ? {} : { version: device.firmwareVersion }),
          canUpdate: found?.link !== undefined,
          ...(found?.problem === undefined ? {} : { problem: found.problem }),
          canRetrieve: found?.link?.canRetrieve === true ? [...retrievedKinds] : [],
          artefacts: await artefactsOf(context, caller, { device, situation }),
          history: await historyOf(context, caller, id),
        },
      }
    },

    async readImpact({ params: { id } }, caller) {
      await requireDevice(context, caller, id)
      const topology = await readTopology(context, caller, { assetIds: [id], direction: 'downstream' })
      const { interrupted, redundant, isCertain, isComplete } = impactOf(topology, id)
      const names = await readNames(context, caller, [...interrupted, ...redundant])
      const shown = (ids: readonly string[]) => ids.flatMap((each) => names.get(each) ?? [])
      return {
        data: {
          assetId: id,
          interrupted: shown(interrupted),
          redundant: shown(redundant),
          isComplete: isComplete && [...interrupted, ...redundant].every((each) => names.has(each)),
          isCertain,
        },
      }
    },
  }
}

async function historyOf({ database }: Context, caller: Caller, id: string): Promise<AssetUpdates['history']> {
  const rows = await database.read(caller, (handle) => listUpdatesOfAsset(handle, id, shownUpdates))
  return rows.map((row) => ({ ...showDevice(row), campaignName: row.campaignName, artefactName: row.artefactName }))
}

/** Returns the product and version of a readable asset. Hidden and missing assets return the same error. */
async function requireDevice({ peers }: Context, caller: Caller, id: string): Promise<InventoryDevice> {
  const selection = { ids: [id], withSoftware: true }
  const { data } = await peers(inventory, caller).selectDevices({ body: { data: selection } })
  const [device] = data.devices
  if (device === undefined) throw new Problem('not_found', `Asset ${id} does not exist`)
  return device
}

/** Returns the artefacts for the product of an asset, newest first, and what a campaign would do with each. */
async function artefactsOf(
  context: Context,
  caller: Caller,
  { device, situation }: { device: InventoryDevice; situation: DeviceSituation },
): Promise<AssetUpdates['artefacts']> {
  const { manufacturer } = device
  if (manufacturer === undefined) return []
  const usable = await readUsableArtefacts(context, caller, { manufacturer })
  return usable
    .filter((artefact) => productMismatch(artefact, device) === undefined)
    .toSorted((one, other) => compareVersions(other.version, one.version))
    .slice(0, shownArtefacts)
    .map((artefact) => {
      const others = sameKind(usable, artefact)
      const own = assessCompatibility(artefact, device, { others, allowsDowngrade: false })
      const assessed = own.outcome === 'update' ? withRefusal(caller, own, { artefact, device, situation }) : own
      const { outcome, reason, steps } = assessed
      const { id, name, version, kind } = artefact
      return { artefactId: id, name, version, kind, outcome, ...(reason === undefined ? {} : { reason }), steps }
    })
}

function sameKind(usable: readonly InstallableArtefact[], { kind }: InstallableArtefact): InstallableArtefact[] {
  return usable.filter((artefact) => artefact.kind === kind)
}

type NamedAsset = { assetId: string; name?: string }

/** Returns the names of those assets that the caller can read. */
async function readNames({ peers }: Context, caller: Caller, ids: readonly string[]): Promise<Map<string, NamedAsset>> {
  const once = [...new Set(ids)].slice(0, inventoryLimits.devices)
  if (once.length === 0) return new Map()
  const { data } = await peers(inventory, caller).selectDevices({ body: { data: { ids: once } } })
  return new Map(
    data.devices.map(({ id, name }) => [id, { assetId: id, ...(name === undefined ? {} : { name }) }] as const),
  )
}
