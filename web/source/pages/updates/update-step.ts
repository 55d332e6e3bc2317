import type { Campaign, DriftProduct } from '@millwright/api/updates.ts'
import { driftFilter } from './product-filter.ts'

/**
 * The next step of the update of a product: continue its draft campaign, open its campaign, find its devices with a scan, upload an
 * artefact, or plan a campaign. `to` and `search` are the page of the step.
 */
export type UpdateStep = {
  kind: 'draft' | 'campaign' | 'scan' | 'upload' | 'plan'
  to: string
  search: Readonly<Record<string, string>>
}

/** Returns the next step for the outdated devices of a product. `campaign` is the open campaign of its newest artefact. */
export function updateStepOf(product: DriftProduct, campaign: Campaign | undefined): UpdateStep {
  const { newestArtefactId, outdatedWithGateway } = product
  if (campaign !== undefined) {
    const kind = campaign.state === 'draft' ? 'draft' : 'campaign'
    return { kind, to: `/updates/campaigns/${campaign.id}`, search: {} }
  }
  if (outdatedWithGateway === 0) return { kind: 'scan', to: '/discovery', search: { scan: 'any' } }
  if (newestArtefactId === undefined)
    return { kind: 'upload', to: '/updates', search: { view: 'artefacts', add: 'yes' } }
  const search = { artefact: newestArtefactId, filter: driftFilter(product) }
  return { kind: 'plan', to: '/updates/campaigns/new', search }
}
