import type { Campaign } from '@millwright/api/updates.ts'
import { IxButton } from '@siemens/ix-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { useRefreshUpdates } from '../update-data.ts'
import { countsOf } from './campaign-counts.ts'
import { campaignMessages } from './messages.ts'

/** The actions that need a confirmation, in the order of their buttons. */
const confirmed = ['delete', 'cancel', 'pause', 'retry', 'resume', 'approve', 'start'] as const
type ConfirmedAction = (typeof confirmed)[number]

type ActionTexts = { verb: string; title: string; text: string; done: string; isDangerous?: boolean }

type CampaignActionsProps = {
  campaign: Campaign
  /** The number of devices that a draft would update. It is undefined until the plan is computed. */
  plannedDevices?: number | undefined
}

/** `CampaignActions` contains the buttons of a campaign. Each action opens a dialog that describes its consequences. */
export function CampaignActions({ campaign, plannedDevices }: CampaignActionsProps) {
  const text = useText(campaignMessages)
  const api = useApi()
  const navigate = useNavigate()
  const refresh = useRefreshUpdates()
  const texts = useActionTexts(campaign, plannedDevices)
  const [open, setOpen] = useState<ConfirmedAction>()
  const input = { params: { id: campaign.id } }
  const calls: Record<ConfirmedAction, () => Promise<unknown>> = {
    start: () => api.updates.startCampaign(input),
    approve: () => api.updates.approveCampaign(input),
    pause: () => api.updates.pauseCampaign(input),
    resume: () => api.updates.resumeCampaign(input),
    cancel: () => api.updates.cancelCampaign(input),
    retry: () => api.updates.retryCampaign(input),
    delete: () => api.updates.deleteCampaign(input),
  }
  const run = async (action: ConfirmedAction) => {
    await calls[action]()
    showSuccess(texts[action].done)
    if (action === 'delete') await navigate({ to: '/updates' })
    await refresh()
  }
  const canStart = plannedDevices === undefined || plannedDevices > 0
  return (
    <>
      {campaign.actions.includes('edit') && (
        <IxButton variant="secondary" onClick={() => navigate({ to: `/updates/campaigns/${campaign.id}/edit` })}>
          {text.edit}
        </IxButton>
      )}
      {confirmed
        .filter((action) => campaign.actions.includes(action))
        .map((action) => (
          <IxButton
            key={action}
            variant={isMain(action) ? 'primary' : 'secondary'}
            disabled={action === 'start' && !canStart}
            onClick={() => setOpen(action)}
          >
            {texts[action].verb}
          </IxButton>
        ))}
      {open !== undefined && (
        <ConfirmDialog
          title={texts[open].title}
          action={texts[open].verb}
          isDangerous={texts[open].isDangerous === true}
          onConfirm={() => run(open)}
          onClose={() => setOpen(undefined)}
        >
          <p>{texts[open].text}</p>
        </ConfirmDialog>
      )}
    </>
  )
}

function isMain(action: ConfirmedAction): boolean {
  return action === 'start' || action === 'approve' || action === 'resume'
}

function useActionTexts(campaign: Campaign, plannedDevices: number | undefined): Record<ConfirmedAction, ActionTexts> {
  const text = useText(campaignMessages)
  const formats = useFormats()
  const { active, waiting } = countsOf(campaign.counts)
  const devicesText = (count: number) => text.deviceCount(count, formats.number(count))
  const planned = devicesText(plannedDevices ?? campaign.devices)
  return {
    start: {
      verb: text.start,
      title: text.startTitle,
      text: campaign.approval === 'required' ? text.startApprovalText(planned) : text.startText(planned),
      done: text.startedToast,
    },
    approve: {
      verb: text.approve,
      title: text.approveTitle,
      text: text.approveText(devicesText(campaign.devices)),
      done: text.approvedToast,
    },
    pause: {
      verb: text.pause,
      title: text.pauseTitle,
      text: text.pauseText(formats.number(active)),
      done: text.pausedToast,
    },
    resume: {
      verb: text.resume,
      title: text.resumeTitle,
      text: campaign.state === 'stopped' ? text.resumeStoppedText : text.resumeText,
      done: text.resumedToast,
    },
    cancel: {
      verb: text.cancel,
      title: text.cancelTitle,
      text: text.cancelText(formats.number(waiting), formats.number(active)),
      done: text.canceledToast,
      isDangerous: true,
    },
    retry: {
      verb: text.retry,
      title: text.retryTitle,
      text: text.retryText(formats.number(campaign.counts.failed)),
      done: text.retriedToast,
    },
    delete: {
      verb: text.delete,
      title: text.deleteTitle,
      text: text.deleteText,
      done: text.deletedToast,
      isDangerous: true,
    },
  }
}
