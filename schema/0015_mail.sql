-- Mails are handed to a mail server. Older ones were kept, and stay so.

-- The tries, as JSON: [{"at": …, "error": …}], six at most. The Message-ID is the same at each.
ALTER TABLE mails ADD COLUMN status TEXT NOT NULL DEFAULT 'kept';
ALTER TABLE mails ADD COLUMN message_id TEXT;
ALTER TABLE mails ADD COLUMN attempts TEXT NOT NULL DEFAULT '[]';
ALTER TABLE mails ADD COLUMN invitation_id TEXT;

-- The newest mail of an invitation, and how it went.
ALTER TABLE invitations ADD COLUMN mail_id TEXT;
ALTER TABLE invitations ADD COLUMN mail_status TEXT NOT NULL DEFAULT 'kept';
ALTER TABLE invitations ADD COLUMN mail_error TEXT;
CREATE INDEX invitations_of_mail ON invitations (organization_id, mail_id) WHERE mail_id IS NOT NULL;
