import type { AssetLink, Discovery } from '@millwright/api/discovery.ts'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keyOf } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi, useMay } from '../../../app/session/user-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { toldDone } from '../../../components/feedback/toast.ts'
import { Form } from '../../../components/forms/form.tsx'
import { Card } from '../../../components/page/card.tsx'
import { Facts } from '../../../components/values/property-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { discoveryMessages } from '../messages.ts'
import { useParameterForm } from './parameter-groups.tsx'

type Given = { scan: Discovery; link: AssetLink | undefined }

/** Where and how the link looks, which can be changed for the next runs while the link is there to be asked. */
export function AskedCard({ scan, link }: Given) {
  const text = useText(discoveryMessages)
  const mayRun = useMay('glb_discovery_run')
  const [isChanging, setChanging] = useState(false)
  const shown = [...scan.discoveryFilters, ...scan.discoveryOptions]
  const isAskable = link !== undefined && link.filters.length + link.options.length > 0
  return (
    <Card
      title={text.asked}
      actions={
        mayRun &&
        isAskable && (
          <IxButton variant="secondary" onClick={() => setChanging(true)}>
            {text.change}
          </IxButton>
        )
      }
    >
      <Facts
        facts={[
          { name: text.link, value: <code>{scan.assetLinkId}</code> },
          ...shown.map(({ key, value }) => ({ name: key, value: String(value) })),
          { name: text.by, value: scan.createdBy },
          { name: text.askedAt, value: <Time at={scan.createdTimestamp} /> },
        ]}
      />
      {isChanging && link !== undefined && <AskedDialog scan={scan} link={link} onClose={() => setChanging(false)} />}
    </Card>
  )
}

function AskedDialog({ scan, link, onClose }: { scan: Discovery; link: AssetLink; onClose: () => void }) {
  const text = useText(discoveryMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const [isTold, setTold] = useState(false)
  const { asked, isWrong, fields } = useParameterForm(link, scan)
  const save = async () => {
    await api.discovery.updateDiscovery({ params: { jobId: scan.jobId }, body: { data: asked } })
    await queryClient.invalidateQueries({ queryKey: keyOf('discovery') })
    toldDone(text.saved)
    onClose()
  }
  const submit = () => {
    setTold(true)
    return isWrong ? false : save()
  }
  return (
    <Dialog title={text.asked} onClose={onClose}>
      <Form action={text.save} onSubmit={submit}>
        <p className="quiet">{text.nextRuns}</p>
        {fields(isTold)}
      </Form>
    </Dialog>
  )
}
