import { type Artefact, artefactKinds, updateLimits } from '@millwright/api/updates.ts'
import { IxButton } from '@siemens/ix-react'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { Progress } from '../../../components/feedback/progress.tsx'
import { showError, showSuccess } from '../../../components/feedback/toast.ts'
import { DropZone } from '../../../components/forms/drop-zone.tsx'
import { SelectField, TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import { SignatureChip } from '../state-chips.tsx'
import { kindNames } from '../state-names.ts'
import { DescriptionFields, SignatureField } from './artefact-fields.tsx'
import { emptyArtefact, missingFields, newArtefactOf, suggestionOf } from './artefact-form.ts'
import { artefactMessages, signatureAdvice } from './messages.ts'
import { type HashedFile, type UploadState, useHashedFile, useUpload } from './use-upload.ts'
import '../updates.css'

/** The number of latest artefacts among which an artefact with the same content is searched. */
const comparedArtefacts = 100

/** `UploadDialog` uploads a new artefact. If its file was uploaded in part before, the upload can continue. */
export function UploadDialog({ onClose }: { onClose: () => void }) {
  const text = useText(artefactMessages)
  const api = useApi()
  const [same, setSame] = useState<Artefact>()
  const { upload, start, cancel } = useUpload()
  const findSame = async (_file: File, sha256: string) => {
    const { data } = await api.updates.listArtefacts({ query: { limit: comparedArtefacts } })
    const found = data.filter((artefact) => artefact.sha256 === sha256)
    setSame(found.find(({ content }) => content.state !== 'complete') ?? found[0])
  }
  const { hashed, failure, choose, clear } = useHashedFile((file, sha256) => {
    findSame(file, sha256).catch((error: Error) => showError(error.message))
  })
  const chooseFile = (file: File) => {
    setSame(undefined)
    choose(file)
  }
  return (
    <Dialog title={text.upload} onClose={onClose} isWide>
      {upload !== undefined && hashed !== undefined ? (
        <RunningUpload
          upload={upload}
          onContinue={() => start(upload.artefact, hashed.file)}
          onCancel={cancel}
          onClose={onClose}
        />
      ) : hashed === undefined ? (
        <>
          <DropZone label={text.drop} hint={text.dropHint} onFile={chooseFile} />
          {failure !== undefined && <ProblemMessage failure={failure} />}
        </>
      ) : (
        <ArtefactDraft
          hashed={hashed}
          same={same}
          onOther={clear}
          onArtefact={(artefact) => start(artefact, hashed.file)}
          onClose={onClose}
        />
      )}
    </Dialog>
  )
}

type ArtefactDraftProps = {
  hashed: HashedFile
  /** An artefact with the same content. */
  same: Artefact | undefined
  onOther: () => void
  onArtefact: (artefact: Artefact) => void
  onClose: () => void
}

/** `ArtefactDraft` describes the chosen file while its hash is calculated. */
function ArtefactDraft({
  hashed: { file, hashedBytes, sha256 },
  same,
  onOther,
  onArtefact,
  onClose,
}: ArtefactDraftProps) {
  const text = useText(artefactMessages)
  const kinds = useText(kindNames)
  const formats = useFormats()
  const api = useApi()
  const [form, setForm] = useState({ ...emptyArtefact, ...suggestionOf(file.name) })
  const [isSubmitted, setSubmitted] = useState(false)
  const change = (changed: Partial<typeof form>) => setForm({ ...form, ...changed })
  const missing = missingFields(form)
  const errorOf = (field: (typeof missing)[number]) =>
    isSubmitted && missing.includes(field) ? text.required : undefined
  const sizeProblem =
    file.size === 0
      ? text.fileEmpty
      : file.size > updateLimits.artefactBytes
        ? text.fileTooLarge(formats.bytes(updateLimits.artefactBytes))
        : undefined
  const create = async (hash: string) => {
    const data = { ...newArtefactOf(form), sha256: hash, size: file.size }
    onArtefact((await api.updates.createArtefact({ body: { data } })).data)
  }
  const submit = () => {
    setSubmitted(true)
    return missing.length > 0 || sha256 === undefined || sizeProblem !== undefined ? false : create(sha256)
  }
  return (
    <>
      <div className="upload-state" role="status">
        <p>
          <strong>{file.name}</strong> · {formats.bytes(file.size)}{' '}
          <button type="button" className="link-button" onClick={onOther}>
            {text.otherFile}
          </button>
        </p>
        {sizeProblem !== undefined && <p className="field-error">{sizeProblem}</p>}
        {sha256 === undefined ? (
          <div>
            <p className="quiet">{text.hashing}</p>
            <Progress value={Math.floor((100 * hashedBytes) / Math.max(1, file.size))} label={text.hashing} />
          </div>
        ) : (
          <p className="quiet">
            {text.sha256}: <code className="hash">{sha256}</code>
          </p>
        )}
        {same !== undefined && <SameContent same={same} onContinue={() => onArtefact(same)} />}
      </div>
      <Form
        action={text.uploadSubmit}
        onSubmit={submit}
        onCancel={onClose}
        isDisabled={sha256 === undefined || sizeProblem !== undefined}
      >
        <div className="field-pair">
          <TextField
            label={text.name}
            isRequired
            error={errorOf('name')}
            maxLength={128}
            value={form.name}
            onChange={(name) => change({ name })}
          />
          <SelectField
            label={text.kind}
            value={form.kind}
            onChange={(kind) => change({ kind })}
            choices={artefactKinds.map((value) => ({ value, label: kinds[value] }))}
          />
          <TextField
            label={text.manufacturer}
            isRequired
            error={errorOf('manufacturer')}
            maxLength={updateLimits.text}
            value={form.manufacturer}
            onChange={(manufacturer) => change({ manufacturer })}
          />
          <TextField
            label={text.version}
            isRequired
            error={errorOf('version')}
            maxLength={updateLimits.text}
            value={form.version}
            onChange={(version) => change({ version })}
          />
        </div>
        <DescriptionFields form={form} onChange={change} productsError={errorOf('products')} />
        <SignatureField value={form.signature} onChange={(signature) => change({ signature })} />
      </Form>
    </>
  )
}

function SameContent({ same, onContinue }: { same: Artefact; onContinue: () => void }) {
  const text = useText(artefactMessages)
  const formats = useFormats()
  const link = (
    <Link to={`/updates/artefacts/${same.id}`}>
      {same.name} {same.version}
    </Link>
  )
  if (same.content.state === 'complete') {
    return (
      <p className="remark">
        {text.sameContent} {link}
      </p>
    )
  }
  return (
    <div className="remark">
      <p>{text.incomplete(same.name, formats.percent(same.content.receivedBytes / Math.max(1, same.size)))}</p>
      <IxButton variant="secondary" onClick={onContinue}>
        {text.continueUpload}
      </IxButton>
    </div>
  )
}

type RunningUploadProps = {
  upload: UploadState
  onContinue: () => void
  onCancel: () => Promise<void>
  onClose: () => void
}

/** `RunningUpload` shows the progress and the end of an upload. */
function RunningUpload({ upload: { artefact, bytes, isInterrupted, failure }, ...props }: RunningUploadProps) {
  const { onContinue, onCancel, onClose } = props
  const text = useText(artefactMessages)
  const advice = useText(signatureAdvice)
  const formats = useFormats()
  const isComplete = artefact.content.state === 'complete'
  const cancel = async () => {
    onClose()
    await onCancel().then(
      () => showSuccess(text.uploadCanceled),
      (error: Error) => showError(error.message),
    )
  }
  return (
    <div className="upload-state">
      <div className="upload-state" role="status">
        <p>
          <strong>
            {artefact.name} {artefact.version}
          </strong>
          {' · '}
          {isComplete ? text.uploadDone : failure === undefined ? text.uploading : text.uploadFailed}
        </p>
        {isComplete ? (
          <>
            <p>
              <SignatureChip state={artefact.signature.state} />
            </p>
            <p>{advice[artefact.signature.state]}</p>
          </>
        ) : (
          <>
            <Progress value={Math.floor((100 * bytes) / Math.max(1, artefact.size))} label={text.uploadProgress} />
            <p className="quiet">{text.sent(formats.bytes(bytes), formats.bytes(artefact.size))}</p>
            {isInterrupted && <p className="remark">{text.interrupted}</p>}
          </>
        )}
      </div>
      {failure !== undefined && <ProblemMessage failure={failure} title={text.uploadFailed} />}
      {!isComplete && failure === undefined && <p className="field-hint">{text.closeHint}</p>}
      <UploadButtons>
        {isComplete ? (
          <Link to={`/updates/artefacts/${artefact.id}`} className="button-link">
            {text.toArtefact}
          </Link>
        ) : (
          <IxButton variant="secondary" onClick={cancel}>
            {text.cancelUpload}
          </IxButton>
        )}
        {failure !== undefined && <IxButton onClick={onContinue}>{text.continueUpload}</IxButton>}
      </UploadButtons>
    </div>
  )
}

function UploadButtons({ children }: { children: ReactNode }) {
  return <div className="form-actions form-actions-end">{children}</div>
}

/** `ContinueDialog` continues the upload of an artefact, after the user has chosen the same file again. */
export function ContinueDialog({ artefact, onClose }: { artefact: Artefact; onClose: () => void }) {
  const text = useText(artefactMessages)
  const [isOther, setOther] = useState(false)
  const { upload, start, cancel } = useUpload()
  const { hashed, failure, choose } = useHashedFile((file, sha256) => {
    if (sha256 === artefact.sha256) start(artefact, file)
    else setOther(true)
  })
  const chooseFile = (file: File) => {
    setOther(false)
    choose(file)
  }
  return (
    <Dialog title={text.continueTitle} onClose={onClose}>
      {upload !== undefined && hashed !== undefined ? (
        <RunningUpload
          upload={upload}
          onContinue={() => start(upload.artefact, hashed.file)}
          onCancel={cancel}
          onClose={onClose}
        />
      ) : (
        <div className="upload-state">
          <p>{text.continueText(`${artefact.name} ${artefact.version}`)}</p>
          <DropZone label={text.drop} onFile={chooseFile} />
          {hashed !== undefined && hashed.sha256 === undefined && (
            <Progress
              value={Math.floor((100 * hashed.hashedBytes) / Math.max(1, hashed.file.size))}
              label={text.hashing}
            />
          )}
          {isOther && (
            <p className="field-error" role="alert">
              {text.otherContent}
            </p>
          )}
          {failure !== undefined && <ProblemMessage failure={failure} />}
        </div>
      )}
    </Dialog>
  )
}
