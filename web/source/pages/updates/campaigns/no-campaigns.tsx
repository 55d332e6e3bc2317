import { iconRocket } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link, useNavigate } from '@tanstack/react-router'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { artefactMessages } from '../artefacts/messages.ts'
import { updateEvents } from '../update-data.ts'
import { campaignMessages } from './messages.ts'
import { useOutdated } from './outdated.tsx'

/** `NoCampaigns` shows the steps to the first campaign, and how many devices are outdated. */
export function NoCampaigns() {
  const text = useText(campaignMessages)
  const artefactText = useText(artefactMessages)
  const navigate = useNavigate()
  const canManage = usePermission('glb_update_manage')
  const artefacts = usePagedList(['updates', 'listArtefacts'], {}, updateEvents)
  const hasArtefacts = artefacts.total > 0
  const upload = () => navigate({ to: '/updates', search: { view: 'artefacts', add: 'yes' } as never })
  const outdated = useOutdated()
  const title = outdated.count === 0 ? text.none : text.outdated(outdated.count, outdated.shown)
  return (
    <EmptyState icon={iconRocket} title={title} isAtStart>
      {outdated.count > 0 && (
        <Link to="/updates" search={{ view: 'drift' } as never}>
          {text.toVersions}
        </Link>
      )}
      <p>
        {outdated.count > 0 && `${text.none}. `}
        {text.noneHint}
      </p>
      {canManage && !artefacts.isLoading && (
        <ol className="first-steps">
          <li>
            <span>{text.stepUpload}</span>
            <IxButton variant={hasArtefacts ? 'secondary' : 'primary'} onClick={upload}>
              {artefactText.upload}
            </IxButton>
          </li>
          <li>
            <span>{text.stepCampaign}</span>
            {hasArtefacts && (
              <IxButton onClick={() => navigate({ to: '/updates/campaigns/new' })}>{text.create}</IxButton>
            )}
          </li>
        </ol>
      )}
    </EmptyState>
  )
}
