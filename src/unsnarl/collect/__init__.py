# SPDX-License-Identifier: Apache-2.0
"""`unsnarl collect`: takes the anomalies of watched programs, stores, ranks and shows them."""
