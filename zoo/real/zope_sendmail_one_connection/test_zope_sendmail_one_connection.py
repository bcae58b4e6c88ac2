# SPDX-License-Identifier: Apache-2.0
"""Two requests of a web server send a mail each through the one mailer of the site."""

import smtplib
import threading

import pytest
from zope.sendmail.mailer import SMTPMailer


class FakeServer:
    """What the mail server gets, and whether its connections are used properly."""

    def __init__(self):
        self.mails = []

    def connect(self, host, port):
        return FakeConnection(self)


class FakeConnection:
    does_esmtp = True

    def __init__(self, server):
        self.server = server
        self.open = True

    def ehlo(self):
        return 250, b"hello"

    def has_extn(self, name):
        return False

    def sendmail(self, sender, recipients, message):
        if not self.open:
            raise smtplib.SMTPServerDisconnected("please run connect() first")
        self.server.mails.append((recipients[0], message))

    def quit(self):
        self.open = False


@pytest.fixture
def server():
    return FakeServer()


@pytest.fixture
def mailer(server):
    mailer = SMTPMailer("mail.example.org")
    mailer.smtp = server.connect
    return mailer


def test_two_requests_send_mail(mailer, server):
    failed = []

    def request(recipient):
        try:
            mailer.vote("me@example.org", [recipient], "hi " + recipient)
            mailer.send("me@example.org", [recipient], "hi " + recipient)
        except Exception as error:
            failed.append((recipient, error))

    threads = [threading.Thread(target=request, args=(name + "@example.org",)) for name in ("ann", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)

    assert failed == []
    assert sorted(server.mails) == [(name, "hi " + name) for name in ("ann@example.org", "bob@example.org")]
