import { useText } from '../../app/language/language-context.tsx'
import { useRights } from '../../app/session/app-context.tsx'
import { TabbedPage } from '../../components/page/tabbed-page.tsx'
import { ArtefactList } from './artefacts/artefact-list.tsx'
import { artefactMessages } from './artefacts/messages.ts'
import { CampaignList } from './campaigns/campaign-list.tsx'
import { campaignMessages } from './campaigns/messages.ts'
import { DriftView } from './drift/drift-view.tsx'
import { driftMessages } from './drift/messages.ts'
import { updateMessages } from './messages.ts'
import { trustMessages } from './trust/messages.ts'
import { TrustView } from './trust/trust-view.tsx'
import '../assets/assets.css'
import './updates.css'

/** `UpdatesPage` contains the campaigns, the artefact library, the versions in use and the trust anchors. */
export function UpdatesPage() {
  const text = useText(updateMessages)
  const rights = useRights()
  const campaigns = { title: useText(campaignMessages).campaigns, View: CampaignList }
  const artefacts = { title: useText(artefactMessages).artefacts, View: ArtefactList }
  const drift = { title: useText(driftMessages).drift, View: DriftView }
  const trust = { title: useText(trustMessages).trust, View: TrustView }
  const canRead = rights.has('glb_jobs_read')
  const views: Record<string, typeof campaigns> = {
    ...(canRead && { campaigns, artefacts }),
    ...(rights.has('inventory_read_asset_data') && { drift }),
    ...(canRead && { trust }),
  }
  return <TabbedPage title={text.title} subtitle={text.subtitle} label={text.title} views={views} />
}
