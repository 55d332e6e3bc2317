import type { AssetLink, Discovery } from '@millwright/api/discovery.ts'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keyOf } from '../../../app/api/queries.ts'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { Form } from '../../../components/forms/form.tsx'
import { Card } from '../../../components/page/card.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { linkTitle, parameterTexts } from '../built-in-links.ts'
import { nameOf } from '../gateways/gateway-links.ts'
import { discoveryMessages } from '../messages.ts'
import { editSettings, isScanEditable } from './edit-settings.ts'
import { useParameterForm } from './parameter-groups.tsx'

type ScanSettingsCardProps = { scan: Discovery; link: AssetLink | undefined }

/**
 * `ScanSettingsCard` shows the settings of a scan. The user can edit the settings only while the asset link is
 * registered. The URL contains whether the dialog is open, so that other pages can open it.
 */
export function ScanSettingsCard({ scan, link }: ScanSettingsCardProps) {
  const text = useText(discoveryMessages)
  const canRun = usePermission('glb_discovery_run')
  const language = useLanguage()
  const [{ edit }, setSearch] = useSearchState<'edit'>()
  const shown = [...scan.discoveryFilters, ...scan.discoveryOptions]
  const isEditable = canRun && isScanEditable(link)
  return (
    <Card
      title={text.settings}
      actions={
        isEditable && (
          <IxButton variant="secondary" onClick={() => setSearch({ edit: editSettings })}>
            {text.edit}
          </IxButton>
        )
      }
    >
      <KeyValueList
        items={[
          {
            name: text.link,
            value: (
              <span title={scan.assetLinkId}>{link === undefined ? linkTitle(scan.assetLinkId) : nameOf(link)}</span>
            ),
          },
          ...shown.map(({ key, value }) => ({
            name: parameterTexts(scan.assetLinkId, { key }, language).label,
            value: String(value),
          })),
          { name: text.createdAt, value: <Time at={scan.createdTimestamp} /> },
        ]}
      />
      {edit === editSettings && isEditable && link !== undefined && (
        <ScanSettingsDialog scan={scan} link={link} onClose={() => setSearch({ edit: undefined })} />
      )}
    </Card>
  )
}

function ScanSettingsDialog({ scan, link, onClose }: { scan: Discovery; link: AssetLink; onClose: () => void }) {
  const text = useText(discoveryMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [isSubmitted, setSubmitted] = useState(false)
  const { settings, isWrong, fields } = useParameterForm(link, scan)
  const save = async () => {
    await api.discovery.updateDiscovery({ params: { jobId: scan.jobId }, body: { data: settings } })
    await queryClient.invalidateQueries({ queryKey: keyOf('discovery') })
    showSuccess(text.saved)
    onClose()
  }
  const submit = () => {
    setSubmitted(true)
    return isWrong ? false : save()
  }
  return (
    <Dialog title={text.settings} onClose={onClose}>
      <Form action={text.save} onSubmit={submit}>
        <p className="quiet">{text.nextRuns}</p>
        {fields(isSubmitted)}
      </Form>
    </Dialog>
  )
}
