import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useRights } from '../../app/session/app-context.tsx'
import { TabbedPage } from '../../components/page/tabbed-page.tsx'
import { Approvals } from './approvals/approvals.tsx'
import { remoteMessages } from './messages.ts'
import { useApprovalCount } from './remote-session.ts'
import { SessionsView } from './sessions/sessions-view.tsx'
import { settingMessages } from './settings/messages.ts'
import { Policies } from './settings/policies.tsx'
import { Switches } from './settings/switches.tsx'
import '../assets/assets.css'

/** `RemoteAccessPage` lists devices and sessions, requests for approval, policies and switches. */
export function RemoteAccessPage() {
  const text = useText(remoteMessages)
  const settings = useText(settingMessages)
  const formats = useFormats()
  const rights = useRights()
  const count = useApprovalCount()
  const sessions = { title: text.devicesAndSessions, View: SessionsView }
  const approvals = {
    title: count === 0 ? text.approvals : text.approvalsCount(formats.number(count)),
    View: Approvals,
  }
  const views: Record<string, typeof sessions> = {
    sessions,
    ...(rights.has('remote_access_approve') && { approvals }),
    ...(rights.has('glb_access_manage') && { policies: { title: settings.policies, View: Policies } }),
    ...(rights.hasAny(['glb_access_manage', 'glb_gateway_manage']) && {
      switches: { title: settings.switches, View: Switches },
    }),
  }
  return <TabbedPage title={text.title} subtitle={text.subtitle} label={text.views} views={views} />
}
