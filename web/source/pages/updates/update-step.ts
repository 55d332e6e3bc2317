import type { Campaign, CampaignState, DriftProduct } from '@millwright/api/updates.ts'
import { driftFilter, partOfProduct } from './product-filter.ts'

/**
 * The next step of the update of a product: continue its draft campaign, open its campaign, find its devices with a scan, upload an
 * artefact, or plan a campaign. `to` and `search` are the page of the step.
 */
export type UpdateStep = {
  kind: 'draft' | 'campaign' | 'scan' | 'upload' | 'plan'
  to: string
  search: Readonly<Record<string, string>>
  /** The campaign of the step. */
  campaign?: Campaign
}

/** The states of campaigns that have not ended. The state that matters most for a plan comes first. */
const openStates: readonly CampaignState[] = ['draft', 'pending-approval', 'running', 'paused', 'stopped']

/** Returns whether a product has outdated devices that a campaign with an artefact can update. */
export function canPlanUpdate({ outdated, newestArtefactId }: DriftProduct): boolean {
  return outdated > 0 && newestArtefactId !== undefined
}

/**
 * Returns the next steps for the outdated devices of a product, the most important one first. `campaigns` are those that have not
 * ended, newest first. A campaign for all devices of the product is the only step. A campaign with the same artefact for other
 * targets, for example for a few devices, comes before the step for all devices, so that the same devices are not planned twice.
 */
export function updateStepsOf(product: DriftProduct, campaigns: readonly Campaign[]): UpdateStep[] {
  const { newestArtefactId, outdatedWithGateway } = product
  const ofArtefact = campaigns
    .filter(({ artefactId }) => artefactId === newestArtefactId)
    .toSorted((one, other) => openStates.indexOf(one.state) - openStates.indexOf(other.state))
  const partOf = ({ targets }: Campaign) => ('filter' in targets ? partOfProduct(targets.filter, product) : 'some')
  const ofAll = ofArtefact.find((campaign) => partOf(campaign) === 'all')
  if (ofAll !== undefined) return [stepTo(ofAll)]
  const ofSome = ofArtefact.find((campaign) => partOf(campaign) === 'some')
  const others = ofSome === undefined ? [] : [stepTo(ofSome)]
  if (outdatedWithGateway === 0) return [...others, { kind: 'scan', to: '/discovery', search: { scan: 'any' } }]
  if (newestArtefactId === undefined)
    return [{ kind: 'upload', to: '/updates', search: { view: 'artefacts', add: 'yes' } }]
  const search = { artefact: newestArtefactId, filter: driftFilter(product) }
  return [...others, { kind: 'plan', to: '/updates/campaigns/new', search }]
}

function stepTo(campaign: Campaign): UpdateStep {
  const kind = campaign.state === 'draft' ? 'draft' : 'campaign'
  return { kind, to: `/updates/campaigns/${campaign.id}`, search: {}, campaign }
}
