import type { Artefact } from '@millwright/api/updates.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { Card } from '../../../components/page/card.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { useFileDownload } from '../../files/file-download.ts'
import { CampaignStateChip, SignatureChip } from '../state-chips.tsx'
import { kindNames, signatureFormatNames } from '../state-names.ts'
import { updateEvents, useArtefact, useRefreshUpdates } from '../update-data.ts'
import { DescriptionFields, SignatureField } from './artefact-fields.tsx'
import { artefactChangesOf, formOfArtefact, missingFields } from './artefact-form.ts'
import { contentText, UseChip } from './artefact-list.tsx'
import { artefactMessages, signatureAdvice } from './messages.ts'
import { ContinueDialog } from './upload-dialog.tsx'
import '../updates.css'

/** `ArtefactPage` shows one artefact: its description, signature, release notes, other versions and campaigns. */
export function ArtefactPage() {
  const text = useText(artefactMessages)
  const { id = '' } = useParams({ strict: false })
  const artefact = useArtefact(id)
  const data = artefact.data?.data
  const title = data === undefined ? text.artefact : `${data.name} ${data.version}`
  usePageTitle(title)
  return (
    <>
      <PageHeader
        title={title}
        above={
          <ParentLink to="/updates" search={{ view: 'artefacts' }}>
            {text.toLibrary}
          </ParentLink>
        }
        actions={data !== undefined && <ArtefactActions artefact={data} />}
      />
      <QueryState query={artefact}>{(found) => <ArtefactView artefact={found.data} />}</QueryState>
    </>
  )
}

function ArtefactActions({ artefact }: { artefact: Artefact }) {
  const text = useText(artefactMessages)
  const api = useApi()
  const navigate = useNavigate()
  const refresh = useRefreshUpdates()
  const canManage = usePermission('glb_update_manage')
  const { save, failure } = useFileDownload()
  const [open, setOpen] = useState<'edit' | 'continue'>()
  if (!canManage) return null
  const params = { id: artefact.id }
  const isComplete = artefact.content.state === 'complete'
  const remove = async () => {
    await api.updates.deleteArtefact({ params })
    showSuccess(text.deleted)
    await navigate({ to: '/updates', search: { view: 'artefacts' } as never })
    await refresh()
  }
  return (
    <>
      <ConfirmButton action={text.delete} title={text.deleteTitle} onConfirm={remove}>
        {text.deleteText}
      </ConfirmButton>
      <IxButton variant="secondary" onClick={() => setOpen('edit')}>
        {text.edit}
      </IxButton>
      {isComplete ? (
        <IxButton variant="secondary" onClick={() => save('updates', 'readContent', { params })}>
          {text.download}
        </IxButton>
      ) : (
        <IxButton onClick={() => setOpen('continue')}>{text.continueUpload}</IxButton>
      )}
      {artefact.isUsable && (
        <IxButton
          onClick={() => navigate({ to: '/updates/campaigns/new', search: { artefact: artefact.id } as never })}
        >
          {text.startCampaign}
        </IxButton>
      )}
      {failure !== undefined && <ProblemMessage failure={failure} />}
      {open === 'edit' && <EditDialog artefact={artefact} onClose={() => setOpen(undefined)} />}
      {open === 'continue' && <ContinueDialog artefact={artefact} onClose={() => setOpen(undefined)} />}
    </>
  )
}

function ArtefactView({ artefact }: { artefact: Artefact }) {
  const text = useText(artefactMessages)
  return (
    <div className="cards cards-two">
      <Card title={text.details}>
        <Description artefact={artefact} />
      </Card>
      <SignatureCard artefact={artefact} />
      <Card title={text.releaseNotes}>
        {artefact.releaseNotes ? (
          <p className="release-notes">{artefact.releaseNotes}</p>
        ) : (
          <p className="quiet">{text.noReleaseNotes}</p>
        )}
      </Card>
      <Card title={text.versions}>
        <OtherVersions artefact={artefact} />
      </Card>
      <Card title={text.campaigns}>
        <CampaignsOfArtefact artefactId={artefact.id} />
      </Card>
    </div>
  )
}

function Description({ artefact }: { artefact: Artefact }) {
  const text = useText(artefactMessages)
  const kinds = useText(kindNames)
  const formats = useFormats()
  const ranges = (artefact.requires ?? []).flatMap(({ from }) => from ?? [])
  return (
    <KeyValueList
      items={[
        { name: text.use, value: <UseChip artefact={artefact} /> },
        artefact.content.state !== 'complete' && {
          name: text.content,
          value: `${contentText(text, formats, artefact)}. ${text.uploadIncomplete}`,
        },
        { name: text.kind, value: kinds[artefact.kind] },
        { name: text.version, value: artefact.version },
        { name: text.manufacturer, value: artefact.manufacturer },
        { name: text.products, value: artefact.products.join(', ') },
        { name: text.hardwareVersions, value: artefact.hardwareVersions?.join(', ') ?? text.allHardware },
        {
          name: text.requires,
          value:
            ranges.length === 0
              ? text.allVersions
              : ranges.map((range) => (
                  <div key={range}>
                    <code>{range}</code>
                  </div>
                )),
        },
        { name: text.size, value: formats.bytes(artefact.size) },
        {
          name: text.sha256,
          value: (
            <span className="with-copy">
              <code>{artefact.sha256}</code>
              <CopyButton value={artefact.sha256} label={text.sha256} />
            </span>
          ),
        },
        artefact.source !== undefined && {
          name: text.source,
          value: (
            <>
              <Link to={`/assets/${artefact.source.assetId}`}>{text.openAsset}</Link>,{' '}
              <Time at={artefact.source.timestamp} />
            </>
          ),
        },
        { name: text.createdBy, value: artefact.createdBy.name },
        { name: text.created, value: <Time at={artefact.createdTimestamp} /> },
      ]}
    />
  )
}

function SignatureCard({ artefact }: { artefact: Artefact }) {
  const text = useText(artefactMessages)
  const advice = useText(signatureAdvice)
  const query = useOperationQuery()
  const canManage = usePermission('glb_update_manage')
  const [isSetting, setSetting] = useState(false)
  const { signature, problem, isUsable } = artefact
  const anchors = useQuery(query(['updates', 'listTrustAnchors'], { query: { limit: 100 } }, updateEvents))
  const anchor = anchors.data?.data.find(({ id }) => id === signature.trustAnchorId)
  return (
    <Card
      title={text.signature}
      actions={
        canManage && (
          <IxButton variant="secondary" onClick={() => setSetting(true)}>
            {signature.state === 'missing' ? text.setSignature : text.replaceSignature}
          </IxButton>
        )
      }
    >
      <p>
        <SignatureChip state={signature.state} />
      </p>
      <p>{advice[signature.state]}</p>
      {!isUsable && problem !== undefined && signature.state !== 'missing' && (
        <p className="remark" data-tone="bad" lang="en">
          {problem.detail}
        </p>
      )}
      <KeyValueList
        items={[
          { name: text.signer, value: signature.signer },
          { name: text.format, value: signature.format && signatureFormatNames[signature.format] },
          { name: text.trustAnchor, value: anchor?.name },
        ]}
      />
      {signature.state === 'untrusted' && (
        <p>
          <Link to="/updates" search={{ view: 'trust' } as never}>
            {text.toTrust}
          </Link>
        </p>
      )}
      {isSetting && <SignatureDialog artefact={artefact} onClose={() => setSetting(false)} />}
    </Card>
  )
}

type ArtefactDialogProps = { artefact: Artefact; onClose: () => void }

function SignatureDialog({ artefact: { id }, onClose }: ArtefactDialogProps) {
  const text = useText(artefactMessages)
  const api = useApi()
  const refresh = useRefreshUpdates()
  const [signature, setSignature] = useState('')
  const save = async () => {
    await api.updates.putSignature({ params: { id }, body: { data: { signature } } })
    showSuccess(text.signatureSet)
    onClose()
    await refresh()
  }
  return (
    <Dialog title={text.setSignature} onClose={onClose}>
      <Form action={text.save} isDisabled={signature.trim() === ''} onSubmit={save} onCancel={onClose}>
        <SignatureField value={signature} onChange={setSignature} />
      </Form>
    </Dialog>
  )
}

function EditDialog({ artefact, onClose }: ArtefactDialogProps) {
  const text = useText(artefactMessages)
  const api = useApi()
  const refresh = useRefreshUpdates()
  const [form, setForm] = useState(() => formOfArtefact(artefact))
  const [isSubmitted, setSubmitted] = useState(false)
  const missing = missingFields(form)
  const errorOf = (field: (typeof missing)[number]) =>
    isSubmitted && missing.includes(field) ? text.required : undefined
  const save = async () => {
    await api.updates.updateArtefact({ params: { id: artefact.id }, body: { data: artefactChangesOf(form) } })
    showSuccess(text.saved)
    onClose()
    await refresh()
  }
  const submit = () => {
    setSubmitted(true)
    return missing.length > 0 ? false : save()
  }
  return (
    <Dialog title={text.editTitle} onClose={onClose} isWide>
      <Form action={text.save} onSubmit={submit} onCancel={onClose}>
        <TextField
          label={text.name}
          isRequired
          error={errorOf('name')}
          maxLength={128}
          value={form.name}
          onChange={(name) => setForm({ ...form, name })}
        />
        <DescriptionFields
          form={form}
          onChange={(changed) => setForm({ ...form, ...changed })}
          productsError={errorOf('products')}
        />
      </Form>
    </Dialog>
  )
}

function OtherVersions({ artefact: { id, manufacturer, products, kind } }: { artefact: Artefact }) {
  const text = useText(artefactMessages)
  const query = useOperationQuery()
  const [product] = products
  const input = { query: { manufacturer, kind, limit: 20, ...(product !== undefined && { product }) } }
  const artefacts = useQuery(query(['updates', 'listArtefacts'], input, updateEvents))
  return (
    <QueryState query={artefacts}>
      {({ data }) => {
        const others = data.filter((other) => other.id !== id)
        if (others.length === 0) return <p className="quiet">{text.noVersions}</p>
        return (
          <ul className="link-lines">
            {others.map((other) => (
              <li key={other.id}>
                <Link to={`/updates/artefacts/${other.id}`} className="link-name">
                  {other.version} · {other.name}
                </Link>
                <SignatureChip state={other.signature.state} />
              </li>
            ))}
          </ul>
        )
      }}
    </QueryState>
  )
}

function CampaignsOfArtefact({ artefactId }: { artefactId: string }) {
  const text = useText(artefactMessages)
  const query = useOperationQuery()
  const campaigns = useQuery(query(['updates', 'listCampaigns'], { query: { artefactId, limit: 20 } }, updateEvents))
  return (
    <QueryState query={campaigns}>
      {({ data }) =>
        data.length === 0 ? (
          <p className="quiet">{text.noCampaigns}</p>
        ) : (
          <ul className="link-lines">
            {data.map((campaign) => (
              <li key={campaign.id}>
                <Link to={`/updates/campaigns/${campaign.id}`} className="link-name">
                  {campaign.name}
                </Link>
                <CampaignStateChip campaign={campaign} />
              </li>
            ))}
          </ul>
        )
      }
    </QueryState>
  )
}
